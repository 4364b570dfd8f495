import { parseConnectionId, parseElicitationId } from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { AdminService } from '../admin/admin-service.ts';
import { type ActDeps, registerAct } from './acts.ts';
import {
  cancelElicitationView,
  disconnectView,
  enableEndpointView,
  redeliverView,
  signOutView,
  stopJobView,
} from './pages/act-views.ts';
import { registerRefundAct } from './refund-act.ts';

export interface ActRoutesDeps extends ActDeps {
  readonly admin: AdminService;
}

const name = z
  .string()
  .max(80)
  .transform(text => (text === '' ? undefined : text))
  .optional();
const date = z
  .union([z.literal('').transform(() => undefined), z.iso.date().transform(day => new Date(`${day}T00:00:00Z`))])
  .optional();
const personValues = z.strictObject({ issuer: z.string().min(1).max(2000), subject: z.string().min(1).max(500) });

const jobPath = ({ jobId }: { readonly jobId: string }) => `/jobs/${jobId}`;

/** What operators do, by verbs of the admin service. */
export const actRoutes: FastifyPluginAsync<ActRoutesDeps> = async (app, { admin, ...deps }) => {
  registerAct(app, deps, {
    path: '/disconnect',
    values: z
      .strictObject({ provider: name, mcpServer: name, since: date })
      .refine(({ provider, mcpServer }) => provider !== undefined || mcpServer !== undefined)
      .transform(({ mcpServer, ...rest }) => ({ ...rest, mcpServerId: mcpServer })),
    async plan(actor, target) {
      return disconnectView(await admin.planDisconnect(actor, target), { at: '/connections', target });
    },
    perform: async (actor, target) => jobPath(await admin.startDisconnect(actor, target)),
  });

  registerAct(app, deps, {
    path: '/connections/:connectionId/disconnect',
    values: z.strictObject({ connectionId: z.string().transform(parseConnectionId) }),
    async plan(actor, { connectionId }) {
      if (connectionId === undefined) return undefined;
      const plan = await admin.planDisconnect(actor, { connectionId });
      return plan.connections === 0
        ? undefined
        : disconnectView(plan, { at: '/connections', target: { connectionId } });
    },
    perform: async (actor, { connectionId }) =>
      connectionId && jobPath(await admin.startDisconnect(actor, { connectionId })),
  });

  registerAct(app, deps, {
    path: '/people/disconnect',
    isAboutPerson: true,
    values: personValues,
    async plan(actor, subject) {
      return disconnectView(await admin.planDisconnect(actor, { subject }), { at: '/people', target: { subject } });
    },
    perform: async (actor, subject) => jobPath(await admin.startDisconnect(actor, { subject })),
  });

  registerAct(app, deps, {
    path: '/people/sign-out',
    isAboutPerson: true,
    values: personValues,
    async plan(actor, subject) {
      return signOutView(await admin.signOutPerson(actor, subject, { dryRun: true }), subject);
    },
    async perform(actor, subject) {
      await admin.signOutPerson(actor, subject, { dryRun: false });
      return '/audit?event=admin.person_signed_out';
    },
  });

  registerAct(app, deps, {
    path: '/elicitations/:elicitationId/cancel',
    values: z.strictObject({ elicitationId: z.string().transform(parseElicitationId) }),
    async plan(actor, { elicitationId }) {
      const of = elicitationId && (await admin.elicitation(actor, elicitationId));
      return of && cancelElicitationView(of);
    },
    async perform(actor, { elicitationId }) {
      const end = elicitationId && (await admin.cancelElicitation(actor, elicitationId));
      return end && `/elicitations/${elicitationId}`;
    },
  });

  async function endpointOf(endpoint: string) {
    return (await admin.webhookEndpoints()).find(each => each.endpoint === endpoint);
  }

  registerAct(app, deps, {
    path: '/webhooks/:endpoint/redeliver',
    values: z.strictObject({ endpoint: z.string() }),
    async plan(_, { endpoint }) {
      const found = await endpointOf(endpoint);
      return found && redeliverView(found);
    },
    async perform(actor, { endpoint }) {
      const job = await admin.startRedelivery(actor, { endpoint });
      return job && jobPath(job);
    },
  });

  registerAct(app, deps, {
    path: '/webhooks/:endpoint/enable',
    values: z.strictObject({ endpoint: z.string() }),
    async plan(_, { endpoint }) {
      const found = await endpointOf(endpoint);
      return found && enableEndpointView(found);
    },
    async perform(actor, { endpoint }) {
      const enabled = await admin.enableWebhookEndpoint(actor, { endpoint, dryRun: false });
      return enabled && `/webhooks?${new URLSearchParams({ endpoint })}`;
    },
  });

  registerAct(app, deps, {
    path: '/jobs/:jobId/stop',
    values: z.strictObject({ jobId: z.string() }),
    async plan(_, { jobId }) {
      const job = await admin.job(jobId);
      return job && stopJobView(job);
    },
    async perform(actor, { jobId }) {
      const job = await admin.cancelJob(actor, jobId);
      return job && jobPath(job);
    },
  });

  registerRefundAct(app, { admin, ...deps });
};
