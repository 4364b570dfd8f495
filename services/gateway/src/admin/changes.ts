import {
  AlreadyEndedError,
  type Connection,
  createElicitationService,
  DomainError,
  type Elicitation,
  type ElicitationId,
  IllegalTransitionError,
  isCharging,
  isTerminal,
  NotFoundError,
  newRevocationId,
  type Stores,
  type Subject,
  shardIn,
  systemEntropy,
} from '@postern/elicitation';
import type { WebhookQueues } from '../events/webhooks/webhook-queues.ts';
import { longestSessionMs } from '../identity/create-browser-session.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import { announcementsOf } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { type Network, offered } from '../platform/store/network.ts';
import type { Actor, DryRun, RecordAct } from './admin-audit.ts';
import { fewAtOnce } from './paced-reads.ts';
import { allSessionsOf, listAllEnded, listAllPasskeys, passkeyOwners, vouchersOf } from './people.ts';

export interface ChangesDeps<Exported> {
  readonly config: Pick<GatewayConfig, 'providers' | 'browserSession' | 'operatorWebhooks'>;
  readonly stores: Stores;
  readonly network: Network | undefined;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly pseudonym: Pseudonyms;
  readonly record: RecordAct;
  readonly queues: () => Promise<WebhookQueues['all']>;
  /** Returns everything that is stored about a person. */
  readonly exportOf: (person: ReturnType<typeof allSessionsOf> & { readonly displayName: string }) => Promise<Exported>;
  readonly now: () => number;
}

/**
 * What operators change. Each verb is a sequence of single commits: after a crash, repeating it does the rest. A removed connection leaves
 * a revocation in the same commit, and the running gateway asks the provider within seconds.
 */
export function createChanges<Exported>({
  config,
  stores,
  network,
  mcpServers,
  pseudonym,
  record,
  queues,
  exportOf,
  now,
}: ChangesDeps<Exported>) {
  const providers = new Set(config.providers.map(({ name }) => name));
  const service = createElicitationService({
    elicitations: stores.elicitations,
    connections: stores.connections,
    notifier: stores.notifier,
    providers: () => undefined,
    // The act of the operator is the audit event.
    audit: () => {},
    entropy: systemEntropy,
    now,
  });

  async function disconnect({ connectionId, provider }: Connection): Promise<void> {
    const revocationId = newRevocationId(shardIn(connectionId), systemEntropy);
    await stores.connections.remove({
      connectionId,
      // Without its configuration, a provider cannot be asked to revoke the grant.
      ...(providers.has(provider) ? { revocationId } : {}),
    });
  }

  /** `being_decided`: by a payment processor, or by an application that verifies. */
  async function cancel({ elicitationId, mcpServerId }: Elicitation) {
    try {
      await service.cancel({ mcpServerId }, elicitationId);
      return 'cancelled' as const;
    } catch (error) {
      const isPaying = error instanceof DomainError && error.code === 'payment_in_progress';
      if (isPaying || error instanceof IllegalTransitionError) return 'being_decided' as const;
      if (error instanceof AlreadyEndedError || error instanceof NotFoundError) return 'already_ended' as const;
      throw error;
    }
  }

  async function removePasskeys(subject: Subject): Promise<number> {
    const announcedAs = announcementsOf(config, pseudonym)(subject);
    let removed = 0;
    for (const owner of passkeyOwners(mcpServers, subject)) removed += await stores.passkeys.reset(owner, announcedAs);
    return removed;
  }

  const openOf = (subject: Subject) => stores.elicitations.listOpen(subject, [...mcpServers.keys()]);

  return {
    /** Enables an endpoint. The gateway resumes its waiting deliveries within seconds. Undefined for an endpoint that is not configured. */
    async enableWebhookEndpoint(actor: Actor, { endpoint, dryRun }: DryRun & { readonly endpoint: string }) {
      if (!(await queues()).some(each => each.endpoint.name === endpoint)) return undefined;
      const { webhookEndpoints } = offered(network);
      if (dryRun) return { endpoint, wasDisabled: (await webhookEndpoints.read(endpoint)).disabled !== undefined };
      await record(actor, { event: 'admin.webhook_enabled', endpoint });
      return { endpoint, wasDisabled: await webhookEndpoints.enable(endpoint) };
    },

    /**
     * Cancels an elicitation for its MCP server, which learns of it as of any end. `being_decided`: a payment processor or an application
     * that verifies decides its end. Undefined for an unknown id.
     */
    async cancelElicitation(
      actor: Actor,
      elicitationId: ElicitationId,
      { dryRun }: DryRun = { dryRun: false },
    ): Promise<'cancelled' | 'already_ended' | 'being_decided' | undefined> {
      const of = await stores.elicitations.read(elicitationId);
      if (of === undefined) return undefined;
      if (isTerminal(of)) return 'already_ended';
      if (dryRun) return isCharging(of) || of.status === 'verifying' ? 'being_decided' : 'cancelled';
      const { subject, mcpServerId } = of;
      await record(actor, { event: 'admin.elicitation_cancelled', subject, elicitationId, mcpServerId });
      return cancel(of);
    },

    /** Ends all browser sessions of a person on every replica, listed or not. */
    async signOutPerson(actor: Actor, subject: Subject, { dryRun }: DryRun) {
      const owner = allSessionsOf(subject);
      if (dryRun) await record(actor, { event: 'admin.person_viewed', subject, what: 'sign_out' });
      const found = (await stores.browserSessions.list(owner)).length;
      if (dryRun) return { found };
      await record(actor, { event: 'admin.person_signed_out', subject, browserSessions: found });
      await stores.browserSessions.endAll(owner, longestSessionMs(config));
      return { found };
    },

    /** Removes all passkeys of a person, of every identity provider and application. Returns undefined if the person has none. */
    async resetPasskeys(actor: Actor, subject: Subject, { dryRun }: DryRun) {
      const found = (await listAllPasskeys({ stores, mcpServers }, subject)).length;
      // That a person has none is a look at the person as well.
      if (dryRun || found === 0) await record(actor, { event: 'admin.person_viewed', subject, what: 'passkeys' });
      if (found === 0) return undefined;
      if (dryRun) return { subject: pseudonym(subject), passkeys: found };
      await record(actor, { event: 'passkey.reset', subject, passkeys: found });
      return { subject: pseudonym(subject), passkeys: await removePasskeys(subject) };
    },

    /** Everything stored about a person, without secrets, to answer a request for it. */
    async exportPerson(actor: Actor, subject: Subject) {
      await record(actor, { event: 'admin.person_exported', subject });
      const session = { ...allSessionsOf(subject), displayName: subject.subject };
      return exportOf(session);
    },

    /**
     * Deletes what is stored about a person, open elicitations first, so that none creates a connection afterwards, and browser sessions
     * last. `left` is what must stay, and how long.
     */
    async erasePerson(actor: Actor, subject: Subject, { dryRun }: DryRun) {
      if (dryRun) await record(actor, { event: 'admin.person_viewed', subject, what: 'erase' });
      const [open, connections, credentials, mutes, ended] = await Promise.all([
        openOf(subject),
        stores.connections.list(subject),
        stores.credentials.list(subject),
        stores.mutes.list(subject),
        listAllEnded({ stores, mcpServers }, subject),
      ]);
      const counts = {
        open: open.length,
        connections: connections.length,
        credentials: credentials.length,
        mutedMcpServers: mutes.length,
      };
      const left = {
        endedElicitations: ended.length,
        payments: ended.filter(({ request }) => request.kind === 'payment').length,
      };
      if (dryRun) return { ...counts, passkeys: undefined, stillDeciding: undefined, left };
      await record(actor, { event: 'admin.person_erased', subject, ...counts });
      const cancelled = await fewAtOnce(open, cancel);
      for (const connection of await stores.connections.list(subject)) await disconnect(connection);
      for (const { credentialId } of await stores.credentials.list(subject))
        await stores.credentials.remove(credentialId);
      for (const { mcpServerId } of mutes) await stores.mutes.unmute(subject, mcpServerId);
      const passkeys = await removePasskeys(subject);
      for (const voucher of vouchersOf(mcpServers)) await stores.payments.forgetPaid({ subject, voucher });
      await stores.browserSessions.endAll(allSessionsOf(subject), longestSessionMs(config));
      return { ...counts, passkeys, stillDeciding: cancelled.filter(end => end === 'being_decided').length, left };
    },
  };
}
