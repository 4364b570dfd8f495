import { randomBytes } from 'node:crypto';
import { parseElicitationId } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDeliveryQueue } from '../../services/gateway/src/events/webhooks/delivery-queue.ts';
import { connected } from '../support/connections.ts';
import { heldJob } from '../support/held-job.ts';
import { paidPerson } from '../support/payment-person.ts';
import type { RawAnswer, RawBrowser } from '../support/raw-browser.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import type { PayingWorld } from '../support/world.ts';
import { csrfTokenIn, operators, signedIn, startConsoleWorld } from './console-world.ts';

let world: PayingWorld;
let operator: RawBrowser;
beforeAll(async () => {
  const secrets = [`whsec_${randomBytes(24).toString('base64')}`];
  const webhooks = [{ id: 'hook', url: 'http://127.0.0.1:9/hooks', secrets, statuses: ['expired' as const] }];
  world = await startConsoleWorld({
    payment: {},
    mcpServer: { webhooks },
    otherMcpServers: [{ id: 'other' }],
    sweepPauseMs: 50,
  });
  operator = await signedIn(world, operators.operator, '/login?to=%2F&fresh=1');
});
afterAll(() => world[Symbol.asyncDispose]());

const reason = 'ticket 4711';
const jobIn = ({ location }: RawAnswer): string => /^\/jobs\/jb_[\w-]{22}$/.exec(location ?? '')?.[0] ?? 'no job';

/** Waits for the end of a job as an operator does: by the page, which reloads itself. */
async function ended(path: string): Promise<RawAnswer> {
  await expect
    .poll(async () => (await operator.get(path)).body, { timeout: 60_000, interval: 300 })
    .toContain('data-live="0"');
  return operator.get(path);
}

const confirm = async (page: RawAnswer, path: string, fields: Record<string, string> = {}) =>
  operator.post(path, { form: { csrf_token: csrfTokenIn(page), reason, ...fields } });

const planIn = ({ body }: RawAnswer): string => /name="plan" value="([\w-]+)"/.exec(body)?.[1] ?? 'no plan';

const connectionsOf = async (user: string) => {
  const subject = new URLSearchParams({ issuer: world.identityProvider.issuer, subject: user });
  return (await world.api.call('GET', `/v1/connections?${subject}`)).body;
};

describe('S155: every act says what it will do, and runs once it is confirmed', () => {
  it('disconnects one connection, as a job with a page', async () => {
    const { connectionId } = await connected(world, { user: 'alice' });
    const path = `/connections/${connectionId}/disconnect`;
    expect((await operator.get('/connections')).body).toContain(path);
    const page = await operator.get(path);
    expect(page.body).toMatch(/<b><bdi>1<\/bdi><\/b> <bdi>connection</);
    const done = await ended(jobIn(await confirm(page, path)));
    expect(done.body).toContain('value="100"');
    expect(done.body).toContain(connectionId);
    expect(JSON.stringify(await connectionsOf('alice'))).not.toContain(connectionId);
    expect((await operator.get(path)).status).toBe(404);
    expect((await operator.get('/audit?event=admin.disconnect_started')).body).toContain(reason);
    expect((await operator.get('/jobs')).body).toContain(operators.operator);
  });

  it('disconnects all of a provider since a date, and none that are older', async () => {
    const { connectionId } = await connected(world, { user: 'bob' });
    const today = new Date(world.clock.now()).toISOString().slice(0, 10);
    const tomorrow = new Date(world.clock.now() + 86_400_000).toISOString().slice(0, 10);
    expect((await operator.get(`/disconnect?provider=forge&since=${tomorrow}`)).body).not.toContain('name="reason"');
    const page = await operator.get(`/disconnect?provider=forge&since=${today}`);
    expect(page.body).toContain('name="reason"');
    await ended(jobIn(await confirm(page, '/disconnect', { provider: 'forge', mcpServer: '', since: today })));
    expect(JSON.stringify(await connectionsOf('bob'))).not.toContain(connectionId);
  });

  it.each(['', '?since=2026-01-01', '?provider=forge&all=1', '?provider=forge&since=yesterday'])(
    'never starts a job for everything or for what it does not understand: /disconnect%s',
    async query => {
      expect((await operator.get(`/disconnect${query}`)).status).toBe(400);
      const page = await operator.get('/disconnect?provider=forge');
      const form = { csrf_token: csrfTokenIn(page), reason, ...Object.fromEntries(new URLSearchParams(query)) };
      expect((await operator.post('/disconnect', { form })).status).toBe(400);
    },
  );

  it('cancels one elicitation, and shows its end', async () => {
    const { elicitationId } = await world.ask('carol');
    const path = `/elicitations/${elicitationId}/cancel`;
    expect((await operator.get(`/elicitations/${elicitationId}`)).body).toContain(path);
    const done = await confirm(await operator.get(path), path);
    expect(done).toMatchObject({ status: 303, location: `/elicitations/${elicitationId}` });
    expect((await operator.get(`/elicitations/${elicitationId}`)).body).toContain('cancelled');
    expect((await operator.get(path)).body).not.toContain('name="reason"');
  });

  it.each(['session', 'csrf', 'origin', 'reason', 'freshness'] as const)('refuses without %s', async missing => {
    const { elicitationId } = await world.ask(`without-${missing}`);
    const path = `/elicitations/${elicitationId}/cancel`;
    const form = { csrf_token: csrfTokenIn(await operator.get(path)), reason };
    const attempt = async () => {
      switch (missing) {
        case 'session':
          return world.raw().post(path, { form });
        case 'csrf':
          return operator.post(path, { form: { ...form, csrf_token: 'x' } });
        case 'origin':
          return operator.post(path, {
            form,
            headers: { origin: 'https://evil.example', 'sec-fetch-site': undefined },
          });
        case 'reason':
          return operator.post(path, { form: { ...form, reason: ' ' } });
        case 'freshness':
          world.clock.pass(301);
          return operator.post(path, { form });
      }
    };
    try {
      expect((await attempt()).status).toBeGreaterThanOrEqual(400);
    } finally {
      world.clock.backToNow();
    }
    expect((await world.api.read(elicitationId)).body).toMatchObject({ status: 'pending' });
  });
});

it('S209: a webhook that is retried shows why and since when, and a redelivery says that it failed again', async () => {
  const deps = world.gateways[0]?.deps;
  const elicitationId = parseElicitationId((await world.ask('erin')).elicitationId);
  if (deps === undefined || elicitationId === undefined) throw new Error('no gateway');
  if (deps.network === undefined) throw new Error('no Redis');
  const redis = deps.network.openQueueRedis();
  const queue = openDeliveryQueue({ endpoint: 'tracker.hook', redis, onError: () => {} });
  const event = { eventId: 'ev_console.1', elicitationId, mcpServerId: 'tracker', occurredAt: world.clock.now() };
  await queue.add([{ ...event, kind: 'authorization', status: 'expired' }]);
  const path = '/webhooks?endpoint=tracker.hook';
  await expect
    .poll(async () => (await operator.get(path)).body, { timeout: 60_000, interval: 300 })
    .toMatch(/Next attempt.*<b><bdi>(unreachable|blocked)<.*ev_console\.1/s);
  expect((await operator.get(path)).body).toMatch(/class="status busy">(?:<bdi>)?retrying</);
  expect((await operator.get('/')).body).toMatch(/Webhooks retrying.*?class="status busy"/s);
  expect((await operator.get('/webhooks')).body).not.toMatch(/status good">(?:<bdi>)?enabled/);
  expect((await operator.get('/webhooks?endpoint=tracker.nowhere')).status).toBe(404);
  const act = '/webhooks/tracker.hook/redeliver';
  const done = await ended(jobIn(await confirm(await operator.get(act), act)));
  expect(done.body).toMatch(/status bad">(?:<bdi>)?failed again/);
  expect(done.body).not.toMatch(/status good/);
  await queue.close();
  redis.close();
});

describe('S156: acts about a person', () => {
  it('disconnect and sign out a person, whose subject is in no URL', async () => {
    const { connectionId, raw } = await connected(world, { user: 'alice' });
    const person = { issuer: world.identityProvider.issuer, subject: 'alice' };
    const found = await operator.post('/people', {
      form: { csrf_token: csrfTokenIn(await operator.get('/people')), ...person, reason },
    });
    const csrf_token = csrfTokenIn(found);
    for (const act of ['disconnect', 'sign-out']) {
      expect(found.body).toContain(`action="/people/${act}"`);
      expect((await operator.get(`/people/${act}?subject=alice`)).status).toBe(404);
    }
    const plan = await operator.post('/people/disconnect', { form: { csrf_token, ...person } });
    expect(plan.body).toMatch(/<b><bdi>1<\/bdi><\/b> <bdi>connection</);
    expect(plan.body).not.toMatch(/href="[^"]*alice/);
    world.clock.pass(301);
    const stale = await operator.post('/people/disconnect', { form: { csrf_token, ...person } });
    expect(stale.body).toContain('/login?to=%2Fpeople');
    expect(stale.body).not.toMatch(/href="[^"]*alice/);
    world.clock.backToNow();
    const done = await ended(jobIn(await confirm(plan, '/people/disconnect/confirmed', person)));
    expect(done.body).not.toContain('alice');
    expect(JSON.stringify(await connectionsOf('alice'))).not.toContain(connectionId);

    expect((await raw.get('/me')).status).toBe(200);
    const signOut = await operator.post('/people/sign-out', { form: { csrf_token, ...person } });
    expect(signOut.body).toMatch(/<b><bdi>[1-9]\d*<\/bdi><\/b> <bdi>browser session/);
    expect((await raw.get('/me')).location).toBeUndefined();
    expect((await confirm(signOut, '/people/sign-out/confirmed', person)).status).toBe(303);
    expect((await raw.get('/me')).body).not.toContain('alice Example');
  });
});

describe('S179: every act and every look at a person', () => {
  interface Post {
    readonly path: string;
    readonly fields?: Record<string, string>;
    readonly event: string;
  }
  const viewed = 'admin.person_viewed';
  const person = () => ({ issuer: world.identityProvider.issuer, subject: 'bob' });
  const gateway = () => {
    const [first] = world.gateways;
    if (first === undefined) throw new Error('no gateway');
    return first;
  };

  /** By the pattern of each route that takes a form. */
  const posts: Readonly<Record<string, () => Promise<Post>>> = {
    '/disconnect': async () => ({
      path: '/disconnect',
      event: 'admin.disconnect_started',
      fields: { provider: 'forge', mcpServer: 'other', since: '' },
    }),
    '/connections/:connectionId/disconnect': async () => {
      const { connectionId } = await connected(world, { user: 'bob' });
      return { path: `/connections/${connectionId}/disconnect`, event: 'admin.disconnect_started' };
    },
    '/elicitations/:elicitationId/cancel': async () => {
      const { elicitationId } = await world.ask('carla');
      return { path: `/elicitations/${elicitationId}/cancel`, event: 'admin.elicitation_cancelled' };
    },
    '/payments/:elicitationId/refund': async () => {
      const path = `/payments/${(await paidPerson(world)).elicitationId}/refund`;
      const plan = planIn(await operator.get(`${path}?amount=5.00`));
      return { path, fields: { amount: '5.00', plan }, event: 'admin.refund_started' };
    },
    '/webhooks/:endpoint/redeliver': async () => ({
      path: '/webhooks/tracker.hook/redeliver',
      event: 'admin.redelivery_started',
    }),
    '/webhooks/:endpoint/enable': async () => {
      await gateway().deps.network?.webhookEndpoints.disable('tracker.hook', {
        reason: 'gone',
        now: world.clock.now(),
      });
      expect((await operator.get('/webhooks?endpoint=tracker.hook')).body).toContain('/webhooks/tracker.hook/enable');
      return { path: '/webhooks/tracker.hook/enable', event: 'admin.webhook_enabled' };
    },
    '/jobs/:jobId/stop': async () => ({
      path: `/jobs/${await heldJob(gateway().deps.stores.jobs)}/stop`,
      event: 'admin.job_cancelled',
    }),
    '/api-keys/:apiKeyId/revoke': async () => {
      const { body } = await operator.get('/api-keys');
      // The key of the MCP server that these tests do not act as.
      const [, path = ''] = [...body.matchAll(/"(\/api-keys\/ak_[\w-]+\/revoke)"/g)].at(-1) ?? [];
      return { path, event: 'api_key.revoked' };
    },
    '/people': async () => ({ path: '/people', fields: person(), event: viewed }),
    '/people/disconnect': async () => ({ path: '/people/disconnect', fields: person(), event: viewed }),
    '/people/disconnect/confirmed': async () => ({
      path: '/people/disconnect/confirmed',
      fields: person(),
      event: 'admin.disconnect_started',
    }),
    '/people/sign-out': async () => ({ path: '/people/sign-out', fields: person(), event: viewed }),
    '/people/sign-out/confirmed': async () => ({
      path: '/people/sign-out/confirmed',
      fields: person(),
      event: 'admin.person_signed_out',
    }),
  };

  it('covers every route that takes a form', async () => {
    const app = await gateway().console?.app();
    const routes = app === undefined ? [] : registeredRoutes(app).filter(({ method }) => method === 'POST');
    // Ends of sessions have events of their own.
    // A search changes nothing, and shows pseudonyms only.
    const isAct = (path: string) => !['/logout', '/find', '/audit'].includes(path) && !path.startsWith('/login/');
    const paths = routes.map(({ path }) => path).filter(isAct);
    expect(paths.sort()).toEqual(Object.keys(posts).sort());
  });

  it.each(Object.entries(posts))('%s leaves one line, with the operator and the reason', async (pattern, prepare) => {
    const lines = async () =>
      (await gateway().deps.stores.audits.readBack({ limit: 5_000 })).map(({ line }) => JSON.parse(line));
    const { path, fields = {}, event } = await prepare();
    const csrf_token = csrfTokenIn(await operator.get('/people'));
    const before = await lines();
    const answer = await operator.post(path, { form: { csrf_token, reason: `for ${pattern}`, ...fields } });
    expect(answer.status).toBeLessThan(400);
    const known = new Set(before.map(line => JSON.stringify(line)));
    const added = (await lines()).filter(line => line.door === 'console' && !known.has(JSON.stringify(line)));
    // The page that plans an act about a person comes before its reason.
    const isPlan = ['/people/disconnect', '/people/sign-out'].includes(pattern);
    expect(added.filter(line => line.event !== 'admin.job_ended')).toMatchObject([
      { event, operator: operators.operator, ...(isPlan ? {} : { reason: `for ${pattern}` }) },
    ]);
  });

  it('a GET of an elicitation is a look at its person', async () => {
    const { elicitationId } = await world.ask('dora');
    await operator.get(`/elicitations/${elicitationId}`);
    const read = await gateway().deps.stores.audits.readBack({ limit: 20 });
    // A job of a test before may end meanwhile, and a refund be made.
    const lines = read.map(each => JSON.parse(each.line)).filter(({ door }) => door === 'console');
    const [line] = lines.filter(({ event }) => event !== 'admin.job_ended');
    expect(line).toMatchObject({
      event: viewed,
      operator: operators.operator,
      door: 'console',
      elicitationId,
    });
  });
});

describe('S165: a refund of an operator pays what its page has said, once', () => {
  const atStripe = (elicitationId: string) =>
    world.stripe.refunds.filter(({ metadata }) => metadata['elicitationId'] === elicitationId).map(of => of.amount);

  it('after an amount that can mean one thing only, and shows it with its status', async () => {
    const { elicitationId } = await paidPerson(world);
    const [page, path] = [`/payments/${elicitationId}`, `/payments/${elicitationId}/refund`];
    expect((await operator.get('/payments')).body).toContain(page);
    expect((await operator.get(page)).body).toContain(path);
    for (const amount of [
      '',
      '5',
      '5.0',
      '5,00',
      '5.000',
      '1,000.00',
      '+5.00',
      '5e0',
      '５.00',
      '0.00',
      '24.91',
      '-5.00',
    ])
      expect((await operator.get(`${path}?${new URLSearchParams({ amount })}`)).body).not.toContain('name="reason"');
    const plan = await operator.get(`${path}?amount=5.00`);
    expect(plan.body).toContain('Pay back 5.00 EUR');
    const form = { amount: '5.00', plan: planIn(plan) };
    const answers = await Promise.all([1, 2, 3].map(() => confirm(plan, path, form)));
    expect(answers.map(({ status, location }) => [status, location])).toEqual(answers.map(() => [303, page]));
    expect((await ended(page)).body).toMatch(/succeeded.*5\.00 EUR.*operator/s);
    expect(atStripe(elicitationId)).toEqual([500]);
    const rest = { minorUnits: 1990, reason: 'by the MCP server' };
    await world.api.call('POST', `/v1/payments/${elicitationId}/refunds`, rest, { 'idempotency-key': 'rest' });
    for (const nothingLeft of [path, `${path}?amount=1.00`])
      expect((await operator.get(nothingLeft)).body).toContain('Everything has been refunded');
    expect((await operator.get('/payments')).body).toContain('5.00 EUR');
    expect((await operator.get('/audit?event=admin.refund_started')).body).toContain(elicitationId);
  });

  it('and nothing once the payment has changed, with another amount than the page, or without its plan', async () => {
    const { elicitationId } = await paidPerson(world);
    const path = `/payments/${elicitationId}/refund`;
    const plan = await operator.get(`${path}?amount=5.00`);
    const form = { amount: '5.00', plan: planIn(plan) };
    const of = { minorUnits: 1, reason: 'by the MCP server' };
    await world.api.call('POST', `/v1/payments/${elicitationId}/refunds`, of, { 'idempotency-key': 'one' });
    const changes: readonly Record<string, string>[] = [
      form,
      { ...form, amount: '24.90' },
      { amount: '5.00' },
      { ...form, amount: '5' },
      {},
    ];
    for (const changed of changes) {
      expect([changed, (await confirm(plan, path, changed)).status]).toEqual([changed, 409]);
    }
    expect(atStripe(elicitationId)).toEqual([1]);
    expect((await confirm(plan, path, { ...form, currency: 'JPY' })).status).toBe(400);
  });

  it.each(['viewer', 'support', 'csrf', 'origin', 'freshness'] as const)('and nothing for %s', async who => {
    const { elicitationId } = await paidPerson(world);
    const path = `/payments/${elicitationId}/refund`;
    const plan = await operator.get(`${path}?amount=5.00`);
    const form = { csrf_token: csrfTokenIn(plan), reason, amount: '5.00', plan: planIn(plan) };
    if (who === 'viewer' || who === 'support') {
      const browser = await signedIn(world, operators[who], '/login?to=%2F&fresh=1');
      expect((await browser.get(`/payments/${elicitationId}`)).body).not.toContain(path);
      expect((await browser.get(`${path}?amount=5.00`)).status).toBe(403);
      expect((await browser.post(path, { form })).status).toBe(403);
    } else {
      const headers = who === 'origin' ? { origin: 'https://evil.example', 'sec-fetch-site': undefined } : {};
      if (who === 'freshness') world.clock.pass(301);
      const answer = await operator.post(path, {
        form: { ...form, ...(who === 'csrf' && { csrf_token: 'x' }) },
        headers,
      });
      world.clock.backToNow();
      expect(answer.status).toBe(403);
    }
    const { body } = await world.api.call('GET', `/v1/payments/${elicitationId}`);
    expect(body).toMatchObject({ status: 'paid', refunds: [] });
  });
});
