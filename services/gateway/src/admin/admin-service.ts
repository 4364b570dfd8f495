import type { Credential, Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { createAccountExport } from '../account/account-export.ts';
import { openWebhookQueues, type WebhookQueues } from '../events/webhooks/webhook-queues.ts';
import { mayRead, mayUse, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { Network } from '../platform/store/network.ts';
import type { AdminProcess } from './admin-audit.ts';
import { createApiKeys } from './api-keys.ts';
import { createAuditSearch, createAuditVerbs } from './audit-search.ts';
import { createChanges } from './changes.ts';
import { createFind } from './find.ts';
import { createJobWorker } from './job-runner.ts';
import { createJobs } from './jobs.ts';
import { createOverview } from './overview.ts';
import { createPeople, listAllEnded, listAllPasskeys, vouchersOf } from './people.ts';
import { createRecordListing } from './record-listing.ts';
import { createRefunds } from './refunds.ts';

export interface AdminServiceDeps {
  readonly config: GatewayConfig;
  readonly stores: Stores;
  readonly vault: Vault;
  readonly pseudonym: Pseudonyms;
  readonly network: Network | undefined;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly adminProcess: AdminProcess;
  readonly now: () => number;
}

/**
 * What operators can do, for every door: the console, `/admin/v1` and the commands. Verbs take typed values, return values that are ready
 * for JSON, and know nothing of HTTP. A verb that shows a person's data, or changes anything, first records who does it, through which
 * door and why: without a stored audit line it throws StoreUnavailableError and does nothing.
 */
export function createAdminService(deps: AdminServiceDeps) {
  const { config, stores, network, vault, pseudonym, mcpServers, adminProcess } = deps;
  const { record } = adminProcess;
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
    ...createOverview({ ...shared, config, now: deps.now, pausedMs: adminProcess.pausedMs }),
    ...createAuditVerbs({
      search: auditSearch,
      record,
      audits: stores.audits,
      pseudonym,
      hasUsers: config.audit.stream,
    }),
    ...createChanges({ ...shared, config, now: deps.now, exportOf: createPersonExport(deps).of }),
    ...createRefunds({ ...shared, config, now: deps.now }),
    ...createApiKeys({ ...shared, config }),
    ...createJobs({ ...shared, config, workOn: createJobWorker(deps) }),
    async [Symbol.asyncDispose]() {
      await (await opened)?.[Symbol.asyncDispose]();
    },
  };
}

export type AdminService = ReturnType<typeof createAdminService>;

/** What a person gets from `/me`, as an operator who answers for all applications gets it. */
function createPersonExport({ stores, mcpServers, now }: Pick<AdminServiceDeps, 'stores' | 'mcpServers' | 'now'>) {
  const nameOf = ({ config: { name } }: RegisteredMcpServer) => ({ name });
  const all = [...mcpServers.values()];
  return createAccountExport({
    deps: {
      stores: {
        ...stores,
        passkeys: { list: subject => listAllPasskeys({ stores, mcpServers }, subject) },
        payments: {
          list: id => stores.payments.list(id),
          listPaid: async page =>
            (
              await Promise.all(vouchersOf(mcpServers).map(voucher => stores.payments.listPaid({ ...page, voucher })))
            ).flat(),
        },
      },
      mcpServers,
      now,
      // An operator answers for all applications, so nothing is left out for the one that identified the person.
      service: {
        listOpen: (visitor, ids) => stores.elicitations.listOpen(visitor.subject, ids),
        listEnded: visitor => listAllEnded({ stores, mcpServers }, visitor.subject),
      },
    },
    views: {
      connectedAccount: of => ({ mcpServers: all.filter(server => mayUse(server, of)).map(nameOf) }),
      credentialReaders: (of: Credential) => all.filter(server => mayRead(server, of)).map(nameOf),
      mcpServerName: id => mcpServers.get(id)?.config.name ?? id,
    },
  });
}
