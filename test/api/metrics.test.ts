import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { oddText } from '../support/hostile-values.ts';
import { connectAccount, declineOnPage } from '../support/person-at-gateway.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { type Sample, scrape, total } from '../support/scrape.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({
    config: { metrics: { port: 0 } },
    mcpServer: { limits: { requestsPerMinute: 1_000_000, elicitationsPerSubject: 1_000_000 } },
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const samplesNow = () => scrape(world.gateways[0]);

/** Returns the increase of a counter during an action. */
async function growth(happening: () => Promise<unknown>) {
  const before = await samplesNow();
  await happening();
  const after = await samplesNow();
  return (name: string, labels?: Record<string, string>) => total(after, name, labels) - total(before, name, labels);
}

describe('metrics of one gateway', () => {
  it('follow an authorization from issue to token and to the reuse of its connection', async () => {
    const subject = world.subject();
    const grown = await growth(async () => {
      const { elicitationId } = await world.ask(subject);
      await connectAccount(world.raw(), elicitationId, subject);
      const { body } = await world.api.read(elicitationId);
      await world.api.accessToken(body.outcome?.connectionId ?? '');
      const { elicitationId: served } = await world.ask(subject).catch(() => ({ elicitationId: 'served' }));
      expect(served).toBe('served');
    });
    const kind = 'authorization';
    expect(grown('postern_elicitations_issued_total', { kind, disposition: 'created' })).toBe(1);
    expect(grown('postern_elicitations_issued_total', { kind, disposition: 'existing_connection' })).toBe(1);
    expect(grown('postern_elicitations_ended_total', { kind, outcome: 'completed', reason: 'none' })).toBe(1);
    expect(grown('postern_elicitation_decision_seconds_count', { kind, outcome: 'completed' })).toBe(1);
    expect(grown('postern_sign_ins_total', { result: 'signed_in' })).toBe(1);
    expect(grown('postern_token_reads_total', { what: 'access_token' })).toBe(1);
    expect(
      grown('postern_outbound_request_duration_seconds_count', { target: 'provider', result: '2xx' }),
    ).toBeGreaterThan(0);
    expect(
      grown('postern_http_request_duration_seconds_count', {
        surface: 'api',
        route: '/v1/elicitations',
        status: '2xx',
      }),
    ).toBe(2);
    expect(
      grown('postern_http_request_duration_seconds_count', {
        surface: 'page',
        method: 'POST',
        route: '/e/:elicitationId/accept',
      }),
    ).toBe(1);
    expect(grown('postern_redis_command_duration_seconds_count', { command: 'createElicitation' })).toBe(2);
    expect(grown('postern_redis_command_errors_total')).toBe(0);
  });

  it('distinguish outcomes and count a wrong person and a wrong credential', async () => {
    const subject = world.subject();
    const grown = await growth(async () => {
      const declined = await world.ask(subject);
      await declineOnPage(world.raw(), declined.elicitationId, subject);
      const cancelled = await world.ask(subject);
      const other = world.raw();
      await other.signIn(cancelled.elicitationId, 'bob');
      await other.get(`/e/${cancelled.elicitationId}`);
      await world.api.cancel(cancelled.elicitationId);
      await world.apiOf({ apiKey: 'wrong' }).read(cancelled.elicitationId);
    });
    expect(grown('postern_elicitations_ended_total', { outcome: 'declined' })).toBe(1);
    expect(grown('postern_elicitations_ended_total', { outcome: 'cancelled' })).toBe(1);
    expect(grown('postern_elicitations_ended_total')).toBe(2);
    expect(grown('postern_wrong_person_total', { kind: 'authorization' })).toBe(1);
    expect(grown('postern_callers_refused_total')).toBe(1);
  });

  it('count waiters while they wait', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const waiting = world.api.read(elicitationId, 30);
    await expect.poll(async () => total(await samplesNow(), 'postern_waits_open')).toBe(1);
    await world.api.cancel(elicitationId);
    await waiting;
    const after = await samplesNow();
    expect(total(after, 'postern_waits_open')).toBe(0);
    expect(total(after, 'postern_http_request_duration_seconds_count', { surface: 'wait' })).toBe(1);
  });
});

describe('S53: for all input, labels', () => {
  const path = fc.oneof(
    oddText.map(text => `/${encodeURIComponent(text.toWellFormed())}`),
    oddText.map(text => `/e/${encodeURIComponent(text.toWellFormed())}?wait=x&code=${'c'.repeat(30)}`),
    oddText.map(text => `/v1/elicitations/${encodeURIComponent(text.toWellFormed())}`),
    fc.constantFrom(
      '/callback/tracker/forge?code=CODE&state=STATE',
      '/login/callback/example-id?error=Some_Error',
      '/v1/nothing',
    ),
  );
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'PROPFIND', 'REPORT');
  let samples: readonly Sample[] = [];
  beforeAll(async () => {
    const address = world.gateways[0]?.address ?? '';
    const authorization = `Bearer ${'x'.repeat(20)}`;
    for (const [verb, target, isCaller] of fc.sample(fc.tuple(method, path, fc.boolean()), { numRuns: 600, seed: 5 })) {
      const response = await fetch(`${address}${target}`, {
        method: verb,
        redirect: 'manual',
        headers: isCaller ? { authorization } : {},
      });
      await response.arrayBuffer();
    }
    samples = await samplesNow();
  });

  it('have few values, all defined by the gateway', () => {
    const { app } = world.gateways[0] ?? {};
    const routes = new Set(app === undefined ? [] : registeredRoutes(app).map(({ path }) => path));
    const ours = samples.filter(({ name }) => name.startsWith('postern_') && name !== 'postern_build_info');
    const values = new Map<string, Set<string>>();
    for (const { labels } of ours)
      for (const [label, value] of Object.entries(labels))
        values.set(label, (values.get(label) ?? new Set()).add(value));
    for (const [label, found] of values) {
      expect(found.size, label).toBeLessThan(100);
      for (const value of found) {
        if (label === 'le') expect(value).toMatch(/^(\d+(\.\d+)?|\+Inf)$/);
        else if (label === 'route' && value !== 'none') expect(routes, value).toContain(value);
        else if (label === 'method') expect(value).toMatch(/^([A-Z]+|other)$/);
        else if (label === 'name') expect(['forge', 'example-id', 'none']).toContain(value);
        else if (label === 'command') expect(value).toMatch(/^[a-zA-Z]{3,30}$/);
        else expect(value, label).toMatch(/^([a-z_]{3,40}|[1-5]xx)$/);
      }
    }
    expect(values.get('route')?.size).toBeGreaterThan(3);
    expect(ours.length).toBeLessThan(5000);
  });

  it('contain no user, elicitation, connection or host', () => {
    const { host } = new URL(world.provider.issuer);
    for (const { name, labels } of samples)
      for (const [label, value] of Object.entries(labels)) {
        // The only label that names providers.
        if (name === 'postern_circuits_open' && label === 'name') continue;
        expect(value).not.toMatch(/el_|cn_|person-|alice|bob|tracker|forge|localhost|127\.0\.0\.1|@|CODE|STATE/);
        expect(value).not.toContain(host);
      }
  });
});
