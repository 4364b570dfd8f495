import {
  AlreadyEndedError,
  type BrowserSession,
  type Clock,
  DomainError,
  digestOf,
  type Elicitation,
  type ElicitationId,
  type ElicitationService,
  type Entropy,
  isOfKind,
  isTerminal,
  NotFoundError,
  newBrowserSessionId,
  parseElicitationId,
  parseVerificationId,
  type Subject,
  shardIn,
  shardOf,
  WrongPersonError,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { Events } from '../events.ts';
import { elicitationUrl } from '../http/api/present.ts';
import { mayAsk, type RegisteredMcpServer } from '../registered-mcp-server.ts';
import type { AuthorizationFlow } from './authorization-flow.ts';
import { sessionLifetime } from './session-lifetime.ts';
import { unsealTransaction } from './unseal-transaction.ts';

const OPEN_MS = 10 * 60 * 1000;
/** The application redirects at once. */
const TICKET_MS = 60 * 1000;
/** By how much the application's clock may run behind ours. */
const BEHIND_MS = 30_000;

const openSchema = z.object({
  elicitationId: z.string(),
  browserBinding: z.string(),
  id: z.string(),
  maxAge: z.number().optional(),
  /** When it began, in epoch milliseconds, where only a sign-in after that will do. */
  provesFrom: z.number().optional(),
  expiresAt: z.number(),
});
const ticketSchema = z.object({
  ...openSchema.shape,
  issuer: z.string(),
  subject: z.string(),
  authTime: z.number().optional(),
});

export interface Verified {
  readonly elicitation: Elicitation;
  readonly continueUrl: string;
}

/**
 * Identity mode `external`: an application that has its own sign-in says who is at the browser. It is asked twice, when the
 * link is opened and again when the provider has answered, each time in that very browser and through its own server.
 *
 * The first answer does not go back through the application's page as a bare yes: it travels as a one-time ticket that
 * counts only in the browser that asked. So somebody who starts in his own browser and lures the right person to the
 * application's page gains nothing.
 */
export function createExternalVerification(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'browserSession'>;
  events: Events;
  service: ElicitationService;
  stores: Pick<RedisStores, 'oneTime' | 'browserSessions'>;
  vault: Vault;
  authorizationFlow: AuthorizationFlow;
  now: Clock;
  entropy: Entropy;
}) {
  // Deployments may share a vault key: what one has begun counts there alone.
  const deployment = p.config.publicUrl;
  const openContext = (mcpServerId: string) => ({ purpose: 'external-open', deployment, mcpServer: mcpServerId });
  const ticketContext = { purpose: 'external-ticket', deployment };

  const unknown = () => new DomainError('verification_unknown', 'The verification is unknown, used or over.');

  async function verifyOpening(
    mcpServer: RegisteredMcpServer,
    elicitation: Elicitation,
    request: VerifyRequest,
  ): Promise<Verified> {
    const opening = await unsealTransaction(p, openSchema, request.verificationId, openContext(mcpServer.mcpServerId));
    if (opening?.elicitationId !== elicitation.elicitationId) throw unknown();
    p.service.assertSamePerson(elicitation, {
      kind: 'signed_in',
      subject: request.subject,
      vouchedBy: mcpServer.mcpServerId,
    });
    const ticket: z.infer<typeof ticketSchema> = {
      ...opening,
      issuer: request.subject.issuer,
      subject: request.subject.subject,
      expiresAt: p.now() + TICKET_MS,
      ...(request.authTime === undefined ? {} : { authTime: request.authTime * 1000 }),
    };
    const continueUrl = new URL('/login/continue', p.config.publicUrl);
    continueUrl.searchParams.set('ticket', await p.vault.seal(JSON.stringify(ticket), ticketContext));
    return { elicitation, continueUrl: continueUrl.href };
  }

  async function verifyAnswer(
    mcpServer: RegisteredMcpServer,
    elicitation: Elicitation,
    request: VerifyRequest,
  ): Promise<Verified> {
    const digest = digestOf(request.verificationId);
    if (!isOfKind(elicitation, 'authorization')) throw unknown();
    if (elicitation.status !== 'verifying' || elicitation.attempt !== digest) throw unknown();
    const consumed = await p.stores.oneTime.consume(shardIn(elicitation.elicitationId), digest);
    if (consumed.result !== 'taken') throw unknown();
    const visitor = { kind: 'signed_in', subject: request.subject, vouchedBy: mcpServer.mcpServerId } as const;
    if (!p.service.checkSamePerson(elicitation, visitor)) {
      // The code was brought by somebody else: it is never used, and the elicitation says so.
      await p.service.fail(elicitation.elicitationId, digest, 'wrong_person');
      throw new WrongPersonError();
    }
    const ended = await p.authorizationFlow.finishVerified(elicitation, consumed.record);
    return { elicitation: ended, continueUrl: elicitationUrl(p.config.publicUrl, ended.elicitationId) };
  }

  return {
    /** Where to send a browser that opened the link. Writes nothing. */
    async opening(
      { verifyUrl, mcpServerId }: { readonly verifyUrl: string; readonly mcpServerId: string },
      elicitationId: ElicitationId,
      browserBinding: string,
      /** Oldest sign-in that will do, in seconds. With 0, the sign-in proves the person for this elicitation. */
      maxAge: number | undefined,
    ): Promise<URL> {
      const opening: z.infer<typeof openSchema> = {
        elicitationId,
        browserBinding,
        id: Buffer.from(p.entropy(32)).toString('base64url'),
        expiresAt: p.now() + OPEN_MS,
        ...(maxAge === undefined ? {} : { maxAge }),
        ...(maxAge === 0 ? { provesFrom: p.now() } : {}),
      };
      const url = new URL(verifyUrl);
      url.searchParams.set('elicitationId', elicitationId);
      url.searchParams.set('verificationId', await p.vault.seal(JSON.stringify(opening), openContext(mcpServerId)));
      // A hint to the application; what counts is the `authTime` that it reports.
      if (maxAge !== undefined) url.searchParams.set('max_age', String(maxAge));
      return url;
    },

    /** @throws NotFoundError, WrongPersonError, AlreadyEndedError, DomainError `identity_mode_mismatch`, `verification_unknown` */
    async verify(
      mcpServer: RegisteredMcpServer,
      elicitationId: ElicitationId,
      request: VerifyRequest,
    ): Promise<Verified> {
      if (mcpServer.identityMode !== 'external') {
        throw new DomainError('identity_mode_mismatch', 'This MCP server does not verify users itself.');
      }
      const elicitation = await p.service.read(mcpServer, elicitationId);
      // Withdrawn since it was issued: as good as gone, like its page.
      if (!mayAsk(mcpServer, elicitation.request) || !mcpServer.issuers.includes(elicitation.subject.issuer))
        throw new NotFoundError();
      if (isTerminal(elicitation)) throw new AlreadyEndedError(elicitation.status);
      return parseVerificationId(request.verificationId) === undefined
        ? verifyOpening(mcpServer, elicitation, request)
        : verifyAnswer(mcpServer, elicitation, request);
    },

    /** The browser is back with its ticket. Undefined unless it is the browser that asked, the first time. */
    async redeemTicket(
      sealed: string,
      browserBinding: string | undefined,
    ): Promise<
      | {
          browserSession: BrowserSession;
          elicitationId: ElicitationId;
          /** The age of a sign-in, in seconds, that was asked for. */
          maxAge: number | undefined;
        }
      | undefined
    > {
      const ticket = await unsealTransaction(p, ticketSchema, sealed, ticketContext);
      const elicitationId = parseElicitationId(ticket?.elicitationId ?? '');
      if (ticket === undefined || elicitationId === undefined) return undefined;
      // Claimed before the comparison: a ticket that turns up in another browser is worth nothing afterwards.
      if (!(await p.stores.oneTime.claim(digestOf(`ticket ${ticket.id}`), OPEN_MS + TICKET_MS))) return undefined;
      const elicitation = await p.service.find(elicitationId);
      if (elicitation === undefined || ticket.browserBinding !== browserBinding) return undefined;
      const subject: Subject = { issuer: ticket.issuer, subject: ticket.subject };
      const browserSession = await p.stores.browserSessions.create(
        {
          id: newBrowserSessionId(shardOf(subject), p.entropy),
          subject,
          origin: { vouchedBy: elicitation.mcpServerId },
          displayName: ticket.subject,
          ...(ticket.authTime === undefined ? {} : { authTime: ticket.authTime }),
          ...(provesPerson(ticket) ? { provedFor: elicitationId } : {}),
        },
        sessionLifetime(p.config.browserSession),
      );
      p.events.signedIn({ subject, origin: `application of ${elicitation.mcpServerId}` });
      return { browserSession, elicitationId, maxAge: ticket.maxAge };
    },
  };
}

/** Whether the person signed in after the opening, which asked for exactly that. */
function provesPerson({ provesFrom, authTime }: z.infer<typeof ticketSchema>): boolean {
  return provesFrom !== undefined && authTime !== undefined && authTime >= provesFrom - BEHIND_MS;
}

export interface VerifyRequest {
  readonly verificationId: string;
  readonly subject: Subject;
  /** Epoch seconds. */
  readonly authTime?: number | undefined;
}

export type ExternalVerification = ReturnType<typeof createExternalVerification>;
