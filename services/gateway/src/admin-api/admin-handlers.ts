import type { adminOperations } from '@postern/api/admin';
import { type ElicitationId, NotFoundError, parseConnectionId, parseElicitationId } from '@postern/elicitation';
import type { Actor, ReasonedActor } from '../admin/admin-audit.ts';
import type { AdminService } from '../admin/admin-service.ts';
import { apiKeyItem } from '../admin/api-keys.ts';
import type { DisconnectTarget } from '../admin/connection-search.ts';
import type { OperationCall, OperationHandlers } from '../platform/http/mount-operations.ts';

/** What every operation gets: the service behind all doors, and who asks. */
export interface AdminContext {
  readonly admin: AdminService;
  readonly actor: Actor;
}

const elicitationIdIn = (parameters: { readonly elicitationId: string }): ElicitationId => {
  const found = parseElicitationId(parameters.elicitationId);
  if (found === undefined) throw new NotFoundError('elicitation');
  return found;
};
const dateOf = (text: string | undefined) => (text === undefined ? undefined : new Date(text));

type Target = OperationCall<(typeof adminOperations)['planDisconnect'], AdminContext>['body'];

function targetOf({ connectionId: id, person, provider, mcpServerId, since }: Target): DisconnectTarget {
  const connectionId = id === undefined ? undefined : parseConnectionId(id);
  if (id !== undefined && connectionId === undefined) throw new NotFoundError('connection');
  return { connectionId, subject: person, provider, mcpServerId, since: dateOf(since) };
}

/** Operations of the scopes `act` and `keys` are refused without a reason. */
const reasoned = ({ reason = '', ...actor }: Actor): ReasonedActor => ({ ...actor, reason });

export const adminHandlers: OperationHandlers<typeof adminOperations, AdminContext> = {
  getHealth: ({ admin }) => admin.health(),
  getCounts: ({ admin, query }) =>
    admin.counts({ ...query, since: new Date(query.since), until: new Date(query.until) }),

  listReplicas: async ({ admin }) => ({ items: await admin.replicas() }),

  listElicitations: ({ admin, actor, query }) => admin.elicitations(actor, query),
  getElicitation: async ({ admin, actor, parameters }) => admin.elicitation(actor, elicitationIdIn(parameters)),
  async cancelElicitation({ admin, actor, parameters }) {
    const result = await admin.cancelElicitation(actor, elicitationIdIn(parameters));
    return result && { result };
  },
  listConnections: ({ admin, actor, query: { since, ...query } }) =>
    admin.connections(actor, { ...query, since: dateOf(since) }),
  listCredentials: ({ admin, actor, query }) => admin.credentials(actor, query),

  listPayments: ({ admin, actor, query }) => admin.payments(actor, query),
  getPayment: async ({ admin, parameters }) => admin.payment(elicitationIdIn(parameters)),
  planRefund: async ({ admin, parameters, body }) => admin.planRefund(elicitationIdIn(parameters), body),
  startRefund: async ({ admin, actor, parameters, body }) =>
    admin.startRefund(reasoned(actor), elicitationIdIn(parameters), body),

  listWebhookEndpoints: async ({ admin }) => ({ items: await admin.webhookEndpoints() }),
  listDeadDeliveries: async ({ admin, query }) => ({ items: await admin.deadDeliveries(query) }),
  listRetryingDeliveries: async ({ admin, query }) => ({ items: await admin.retryingDeliveries(query) }),
  enableWebhookEndpoint: ({ admin, actor, body }) => admin.enableWebhookEndpoint(actor, body),
  startRedelivery: ({ admin, actor, body }) => admin.startRedelivery(actor, body),

  listApiKeys: async ({ admin }) => ({ items: (await admin.apiKeys()).map(apiKeyItem) }),
  addApiKey: ({ admin, actor, body }) => admin.addApiKey(reasoned(actor), body),
  async revokeApiKey({ admin, actor, parameters: { apiKeyId }, body: { dryRun } }) {
    const revoked = await admin.revokeApiKey(reasoned(actor), { apiKeyId, dryRun });
    return revoked && { ...revoked, apiKey: apiKeyItem(revoked.apiKey) };
  },

  listAudit: ({ admin, actor, query: { since, until, ...query } }) =>
    admin.audit(actor, { ...query, since: dateOf(since), until: dateOf(until) }),
  readAudit: ({ admin, query: { since, ...query } }) => admin.auditAfter({ ...query, since: dateOf(since) }),
  find: ({ admin, body }) => admin.find(body.text),

  showPerson: ({ admin, actor, body }) => admin.person(actor, body),
  exportPerson: ({ admin, actor, body }) => admin.exportPerson(actor, body),
  signOutPerson: ({ admin, actor, body: { dryRun, ...subject } }) => admin.signOutPerson(actor, subject, { dryRun }),
  erasePerson: ({ admin, actor, body: { dryRun, ...subject } }) => admin.erasePerson(actor, subject, { dryRun }),
  resetPasskeys: ({ admin, actor, body: { dryRun, ...subject } }) => admin.resetPasskeys(actor, subject, { dryRun }),
  planDisconnect: async ({ admin, actor, body }) => admin.planDisconnect(actor, targetOf(body)),
  startDisconnect: async ({ admin, actor, body }) => admin.startDisconnect(actor, targetOf(body)),

  listJobs: async ({ admin, query }) => ({ items: await admin.jobs(query) }),
  getJob: ({ admin, parameters }) => admin.job(parameters.jobId),
  cancelJob: ({ admin, actor, parameters }) => admin.cancelJob(actor, parameters.jobId),
};
