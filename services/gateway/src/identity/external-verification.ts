import {
  AlreadyEndedError,
  type BrowserSession,
  type Clock,
  DomainError,
  digestOf,
  type Elicitation,
  type ElicitationId,
  type ElicitationOf,
  type ElicitationService,
  type Entropy,
  isOfKind,
  isTerminal,
  NotFoundError,
  type OneTimeRecord,
  parseElicitationId,
  parseVerificationId,
  type Stores,
  type Subject,
  shardIn,
  WrongPersonError,
} from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import { asConfigured, mayAsk, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationUrl } from '../platform/http/public-urls.ts';
import { unsealTransaction } from '../sealing/unseal-transaction.ts';
import { createBrowserSession } from './create-browser-session.ts';
import { type AccountPage, accountPageSchema, type ReturnTo } from './sign-in-flow.ts';
import { FRESH_SECONDS, isFresh } from './sign-in-policy.ts';

/** Maximum time from opening the link to the application's verification. */
const OPEN_MS = 10 * 60 * 1000;
/** Lifetime of a ticket. Short, because the application redirects immediately. */
const TICKET_MS = 60 * 1000;
/** Maximum time that the application's clock may be behind ours. */
const BEHIND_MS = 30_000;

const openSchema = z.object({
  elicitationId: z.string(),
  browserBinding: z.string(),
  id: z.string(),
  maxAge: z.number().optional(),
  /** Epoch milliseconds. Only a sign-in since then is accepted. */
  provesFrom: z.number().optional(),
  /** The page of the account to which the user returns. Absent: the elicitation. */
  to: accountPageSchema.optional(),
  expiresAt: z.number(),
});
const ticketSchema = z.object({
  ...openSchema.shape,
  /** Until when the application can get another ticket of this opening. */
  openUntil: z.number(),
  issuer: z.string(),
  subject: z.string(),
  authTime: z.number().optional(),
});

export type RedeemedTicket =
  | {
      readonly result: 'signed_in';
      readonly browserSession: BrowserSession;
      readonly returnTo: ReturnTo;
      /** Requested maximum age of the sign-in, in seconds. */
      readonly maxAge: number | undefined;
    }
  | {
      readonly result: 'refused';
      readonly code: 'ticket_refused' | 'auth_time_too_old';
      /** Where the user may retry. */
      readonly returnTo?: ReturnTo;
    };

const refused = { result: 'refused', code: 'ticket_refused' } as const;

export interface Verified {
  readonly elicitation: Elicitation;
  readonly continueUrl: string;
}

/**
 * Identity mode `external`: an application with its own sign-in verifies the user. The gateway redirects the browser there twice, when
 * the user opens the link and again after the OAuth callback. Each time the application's server calls `verify`.
 *
 * The first verification returns to the browser as a one-time ticket that is bound to the browser that opened the link. An attacker who
 * opens the link and lures the right user to the application's page therefore gets no session.
 */
export function createExternalVerification(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'browserSession'>;
  auditLog: AuditLog;
  service: ElicitationService;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  stores: Pick<Stores, 'oneTime' | 'browserSessions'>;
  vault: Vault;
  oauthCallback: {
    /** Exchanges the held code of an elicitation whose user was verified. */
    finishVerified(elicitation: ElicitationOf<'authorization'>, record: OneTimeRecord): Promise<Elicitation>;
  };
  now: Clock;
  entropy: Entropy;
}) {
  // Deployments may share a vault key, so sealed values name their deployment.
  const deployment = p.config.publicUrl;
  const openContext = (mcpServerId: string) => ({ purpose: 'external-open', deployment, mcpServer: mcpServerId });
  const ticketContext = { purpose: 'external-ticket', deployment };

  const unknown = () =>
    new DomainError('verification_unknown', 'The verification is unknown, already used or expired.');

  async function verifyOpening(
    mcpServer: RegisteredMcpServer,
    elicitation: Elicitation,
    request: VerifyRequest,
  ): Promise<Verified> {
    const opening = await unsealTransaction(p, openSchema, request.verificationId, openContext(mcpServer.mcpServerId));
    // An ended elicitation still says whose account it is.
    if (isTerminal(elicitation) && opening?.to === undefined) throw new AlreadyEndedError(elicitation.status);
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
      openUntil: opening.expiresAt,
      expiresAt: p.now() + TICKET_MS,
      authTime: request.authTime === undefined ? undefined : request.authTime * 1000,
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
    if (isTerminal(elicitation)) throw new AlreadyEndedError(elicitation.status);
    const digest = digestOf(request.verificationId);
    if (!isOfKind(elicitation, 'authorization')) throw unknown();
    if (elicitation.status !== 'verifying' || elicitation.attempt !== digest) throw unknown();
    const consumed = await p.stores.oneTime.consume(shardIn(elicitation.elicitationId), digest);
    if (consumed.result !== 'taken') throw unknown();
    const visitor = { kind: 'signed_in', subject: request.subject, vouchedBy: mcpServer.mcpServerId } as const;
    if (!p.service.checkSamePerson(elicitation, visitor)) {
      // Another user delivered the code. The gateway never exchanges it, and the elicitation fails.
      await p.service.fail(elicitation.elicitationId, digest, 'wrong_person');
      throw new WrongPersonError();
    }
    const ended = await p.oauthCallback.finishVerified(elicitation, consumed.record);
    return { elicitation: ended, continueUrl: elicitationUrl(p.config.publicUrl, ended.elicitationId) };
  }

  return {
    /** Returns the application's URL for a browser that opened the link. Writes nothing to Redis. */
    async opening(
      { verifyUrl, mcpServerId }: { readonly verifyUrl: string; readonly mcpServerId: string },
      elicitationId: ElicitationId,
      browserBinding: string,
      /** Maximum age of the sign-in, in seconds. With 0, only a sign-in after this call is accepted. */
      maxAge: number | undefined,
      /** A page of the account for which the user signs in again. Only a sign-in of the last minutes is accepted. */
      to?: AccountPage,
    ): Promise<URL> {
      const opening: z.infer<typeof openSchema> = {
        elicitationId,
        browserBinding,
        id: Buffer.from(p.entropy(32)).toString('base64url'),
        expiresAt: p.now() + OPEN_MS,
        maxAge,
        to,
        ...(maxAge === 0 ? { provesFrom: p.now() } : {}),
        ...(to === undefined ? {} : { provesFrom: p.now() - FRESH_SECONDS * 1000 }),
      };
      const url = new URL(verifyUrl);
      url.searchParams.set('elicitationId', elicitationId);
      url.searchParams.set('verificationId', await p.vault.seal(JSON.stringify(opening), openContext(mcpServerId)));
      // A hint for the application. The gateway checks the `authTime` that the application reports.
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
      // The operator has withdrawn the permission since: respond as for an unknown id, like the page.
      if (!mayAsk(mcpServer, elicitation.request) || !mcpServer.issuers.includes(elicitation.subject.issuer))
        throw new NotFoundError();
      const named = { ...request, subject: asConfigured(mcpServer, request.subject) };
      return parseVerificationId(request.verificationId) === undefined
        ? verifyOpening(mcpServer, elicitation, named)
        : verifyAnswer(mcpServer, elicitation, named);
    },

    /**
     * Exchanges a ticket for a browser session, once and only in the browser that opened the link. Creates no session if the ticket does
     * not prove a fresh sign-in that the opening required.
     * @param browser name of the browser and its system, for the list that its user sees
     * @throws QuotaExceededError
     */
    async redeemTicket(sealed: string, browserBinding: string | undefined, browser?: string): Promise<RedeemedTicket> {
      const ticket = await unsealTransaction(p, ticketSchema, sealed, ticketContext);
      const elicitationId = parseElicitationId(ticket?.elicitationId ?? '');
      if (ticket === undefined || elicitationId === undefined) return refused;
      const elicitation = await p.service.find(elicitationId);
      const mcpServer = elicitation && p.mcpServers.get(elicitation.mcpServerId);
      if (mcpServer === undefined) return refused;
      // Spend the opening before comparing: a ticket that another browser has presented must not work afterwards.
      const { mcpServerId } = mcpServer;
      const expiresAt = ticket.openUntil + TICKET_MS;
      const spent = { kind: `ticket.${mcpServerId}`, digest: digestOf(ticket.id), expiresAt } as const;
      if (!(await p.stores.oneTime.spend(spent)) || ticket.browserBinding !== browserBinding) return refused;
      const proves = provesPerson(ticket, p.now());
      if (ticket.provesFrom !== undefined && !proves)
        return { result: 'refused', code: 'auth_time_too_old', returnTo: ticket.to ?? elicitationId };
      const subject: Subject = { issuer: ticket.issuer, subject: ticket.subject };
      const session = {
        subject,
        origin: { vouchedBy: mcpServerId },
        displayName: ticket.subject,
        authTime: ticket.authTime,
        browser,
        ...(proves && ticket.to === undefined ? { provedFor: elicitationId } : {}),
      };
      const signedInAt = `application of ${mcpServerId}`;
      const { quota } = mcpServer.limits;
      const browserSession = await createBrowserSession(p, { session, signedInAt, quota });
      return { result: 'signed_in', browserSession, returnTo: ticket.to ?? elicitationId, maxAge: ticket.maxAge };
    },
  };
}

/** Whether the opening required a recent sign-in, and the application reports one. */
function provesPerson({ provesFrom, authTime }: z.infer<typeof ticketSchema>, now: number): boolean {
  return provesFrom !== undefined && isFresh(authTime, now - provesFrom + BEHIND_MS, now);
}

export interface VerifyRequest {
  readonly verificationId: string;
  readonly subject: Subject;
  /** Epoch seconds. */
  readonly authTime?: number | undefined;
}

export type ExternalVerification = ReturnType<typeof createExternalVerification>;
