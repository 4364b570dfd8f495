import type { Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { openWebhookQueues, type WebhookQueues } from '../events/webhooks/webhook-queues.ts';
import { type RegisteredMcpServer, registerMcpServers } from '../mcp-servers/registered-mcp-server.ts';
import type { Pseudonyms } from '../platform/audit/pseudonyms.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { Logger } from '../platform/logger.ts';
import type { UpstreamOf } from '../platform/overload/upstream.ts';
import type { Network } from '../platform/store/network.ts';
import { createAdminAudit } from './admin-audit.ts';
import { createApiKeys } from './api-keys.ts';
import { createAuditSearch, createAuditVerbs } from './audit-search.ts';
import { createChanges } from './changes.ts';
import { createFind } from './find.ts';
import { createJobWorker } from './job-runner.ts';
import { createJobs } from './jobs.ts';
import { createOverview } from './overview.ts';
import { createPeople } from './people.ts';
import { createRecordListing } from './record-listing.ts';
import { createRefunds } from './refunds.ts';

export interface AdminServiceDeps {
  readonly config: GatewayConfig;
  readonly stores: Stores;
  readonly vault: Vault;
  readonly pseudonym: Pseudonyms;
  /** The log of the gateway. A command has none, and prints its acts. */
  readonly logger?: Logger;
  readonly print?: ((text: string) => void) | undefined;
  readonly network: Network | undefined;
  readonly now: () => number;
  readonly mcpServers?: ReadonlyMap<string, RegisteredMcpServer>;
  /** Of the running gateway; a command has none. */
  readonly upstreamOf?: UpstreamOf;
}

/**
 * What operators can do, for every door: the console, `/admin/v1` and the commands. Verbs take typed values, return values that are ready
 * for JSON, and know nothing of HTTP. A verb that shows a person's data, or changes anything, first records who does it, through which
 * door and why: without a stored audit line it throws StoreUnavailableError and does nothing.
 */
export function createAdminService(deps: AdminServiceDeps) {
  const { config, stores, network, vault, pseudonym } = deps;
  const mcpServers = deps.mcpServers ?? registerMcpServers(config);
  const record = createAdminAudit({ ...deps, audits: stores.audits });
  const auditSearch = createAuditSearch({ audits: stores.audits, pseudonym });
  let opened: Promise<WebhookQueues> | undefined;
  const queues = async () => {
    // Redis faults show in the verbs that need the queues, and the queues reconnect by themselves.
    opened ??= openWebhookQueues({ config, network, onError: () => {} });
    return (await opened).all;
  };
  const shared = { stores, network, mcpServers, pseudonym, record, vault, queues, auditSearch };
  return {
    ...createRecordListing(shared),
    ...createPeople(shared),
    ...createFind({ ...shared, config }),
    ...createOverview({ ...shared, config, now: deps.now, upstreamOf: deps.upstreamOf }),
    ...createAuditVerbs({ search: auditSearch, record, audits: stores.audits, pseudonym }),
    ...createChanges({ ...shared, config, now: deps.now }),
    ...createRefunds({ ...shared, config, now: deps.now }),
    ...createApiKeys({ ...shared, config }),
    ...createJobs({ ...shared, config, workOn: createJobWorker({ ...deps, mcpServers }) }),
    async [Symbol.asyncDispose]() {
      await (await opened)?.[Symbol.asyncDispose]();
    },
  };
}

export type AdminService = ReturnType<typeof createAdminService>;
