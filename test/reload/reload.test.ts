import { getEventListeners } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Gateway, type GatewayConfigInput, parseConfig } from '@postern/gateway';
import { drawnIcon } from '@postern/pages';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { deliveryForm, issueFor, visitorFor } from '../support/asks.ts';
import { listen } from '../support/event-listener.ts';
import { startGatedEndpoint } from '../support/gated-endpoint.ts';
import { modernCall, urlRequestOf } from '../support/modern-call.ts';
import { connectAccount, declineOnPage, elicitationIdOf } from '../support/person-at-gateway.ts';
import { isShortRun } from '../support/run-size.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { askFor, createApi, hashOf, keyOf, startWorld, type World } from '../support/world.ts';

type McpServerInput = GatewayConfigInput['mcpServers'][number];

let world: World;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  world = stack.use(
    await startWorld({
      mcpServer: { kinds: ['authorization', 'form', 'credential'] },
      otherMcpServers: [{ id: 'wiki' }],
    }),
  );
});
afterAll(() => stack.disposeAsync());
afterEach(() => reload(world.config));

function gateway(): Gateway {
  const [first] = world.gateways;
  if (first === undefined) throw new Error('no gateway');
  return first;
}

const reload = (config: GatewayConfigInput) => gateway().reload(() => parseConfig(config));

/** The configuration with this change of each of its MCP servers; undefined removes one. */
const withServers = (change: (server: McpServerInput) => McpServerInput | undefined): GatewayConfigInput => ({
  ...world.config,
  mcpServers: world.config.mcpServers.flatMap(server => change(server) ?? []),
});
const changing = (id: string, change: Partial<McpServerInput>) =>
  withServers(server => (server.id === id ? { ...server, ...change } : server));
const without = (id: string) => withServers(server => (server.id === id ? undefined : server));
/** Another API key replaces that of the MCP server. */
const NEW_KEY = 'pk_tracker_after-its-rotation-0123456789';
const rotated = () => changing('tracker', { apiKeys: [{ hash: hashOf(NEW_KEY) }] });

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const wait = (elicitationId: string, apiKey = keyOf('tracker')) =>
  createApi(gateway().address, apiKey).read(elicitationId, 55);

/** Resolves when this many waiting reads wait. */
const untilWaiting = (count: number) =>
  vi.waitFor(() => expect(gateway().deps.overload.waits.all).toBe(count), { timeout: 100_000 });

/** A form for an unused user. */
const formFor = (user: string) =>
  ({
    kind: 'form',
    form: deliveryForm,
    subject: { issuer: world.identityProvider.issuer, subject: user },
  }) as const;

const stylesOf = (html: string) => /href="(\/assets\/[^"]+\.css)"/.exec(html)?.[1] ?? '';

describe('a reload', () => {
  it('adds an MCP server, which works at once', async () => {
    const added = {
      ...world.config.mcpServers[0],
      id: 'added',
      name: 'Added',
      apiKeys: [{ hash: hashOf(keyOf('added')) }],
    };
    const api = world.apiOf({ apiKey: keyOf('added') });
    const ask = formFor(world.subject());
    expect((await api.issue(ask)).status).toBe(401);
    const mcpServers = [...world.config.mcpServers, added as McpServerInput];
    expect(await reload({ ...world.config, mcpServers })).toEqual({
      result: 'reloaded',
      sections: ['mcpServers'],
      mcpServers: { added: ['added'], changed: [], removed: [] },
    });
    expect((await api.issue(ask)).status).toBe(201);
  });

  it('changes the branding of pages, and still serves the stylesheet of open pages', async () => {
    const before = (await world.raw().get('/me')).body;
    await reload({ ...world.config, branding: { name: 'Harbour', accent: '#0000aa' } });
    const after = (await world.raw().get('/me')).body;
    expect(after).toContain('Harbour');
    expect(stylesOf(after)).not.toBe(stylesOf(before));
    for (const page of [before, after]) expect((await world.raw().get(stylesOf(page))).status).toBe(200);
  });

  it('S107: serves images as they were when they were read, and refuses a faulty one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'postern-images-'));
    try {
      const files = {
        one: drawnIcon({ red: 170, green: 0, blue: 0 }, 32),
        other: drawnIcon({ red: 0, green: 0, blue: 170 }, 32),
      };
      writeFileSync(join(folder, 'logo.png'), files.one);
      const branding = { imagesFolder: folder, logo: { light: 'logo.png' }, icon: 'logo.png' };
      const tracker = {
        logo: { light: 'logo.png' },
        branding: { accent: '#1a5f2b', privacyUrl: 'https://tracker.example/privacy' },
      };
      const config = { ...changing('tracker', tracker), branding };
      expect(await reload(config)).toMatchObject({ result: 'reloaded' });
      const imageOf = (html: string) => / src="(\/images\/[^"]+)"/.exec(html)?.[1] ?? '';
      const me = (await world.raw().get('/me')).body;
      const first = imageOf(me);
      const served = () => fetch(new URL(first, gateway().address));
      const image = await served();
      expect(Buffer.from(await image.arrayBuffer())).toEqual(files.one);
      expect(Object.fromEntries(image.headers)).toMatchObject({
        'content-type': 'image/png',
        'cache-control': 'public, max-age=31536000, immutable',
        'content-security-policy': expect.stringMatching(/^default-src 'none';.*; sandbox$/),
        'x-content-type-options': 'nosniff',
      });
      const favicon = await fetch(new URL('/favicon.ico', gateway().address));
      expect(Buffer.from(await favicon.arrayBuffer())).toEqual(files.one);

      // The pages of one MCP server, only for the person who may see them.
      const user = world.subject();
      const { elicitationId } = await issueFor(world, user, { kind: 'form', form: deliveryForm });
      const stranger = (await world.raw().get(`/e/${elicitationId}`)).body;
      const own = (await (await visitorFor(world, user, elicitationId)).get(`/e/${elicitationId}`)).body;
      expect(stylesOf(stranger)).toBe(stylesOf(me));
      expect(stylesOf(own)).not.toBe(stylesOf(me));
      expect((await world.raw().get(stylesOf(own))).status).toBe(200);
      expect([stranger, own].map(html => html.includes('https://tracker.example/privacy'))).toEqual([false, true]);

      writeFileSync(join(folder, 'logo.png'), '<svg onload="alert(1)"/>');
      expect(Buffer.from(await (await served()).arrayBuffer())).toEqual(files.one);
      const refused = await reload(config).catch((error: unknown) => error);
      expect(refused).toMatchObject({ result: 'refused' });
      expect(Buffer.from(await (await served()).arrayBuffer())).toEqual(files.one);

      writeFileSync(join(folder, 'logo.png'), files.other);
      expect(await reload(config)).toMatchObject({ result: 'reloaded', sections: ['images'] });
      expect(imageOf((await world.raw().get('/me')).body)).not.toBe(first);
      // A page that was open during the reload still gets its image.
      expect((await served()).status).toBe(200);
      expect((await world.raw().get('/images/..%2f..%2fetc%2fpasswd')).status).toBe(404);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('draws an icon in the accent where none is configured', async () => {
    await reload({ ...world.config, branding: { accent: '#0000aa' } });
    const favicon = await fetch(new URL('/favicon.ico', gateway().address));
    expect(favicon.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await favicon.arrayBuffer())).toEqual(drawnIcon({ red: 0, green: 0, blue: 170 }, 180));
  });

  it('finishes a form that was opened before it', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, { kind: 'form', form: deliveryForm });
    const browser = await visitorFor(world, user, elicitationId);
    const form = { csrf_token: await browser.csrfToken(elicitationId) };
    await reload({ ...world.config, branding: { name: 'Harbour' } });
    expect((await browser.post(`/e/${elicitationId}/decline`, { form })).status).toBe(303);
    expect((await world.api.read(elicitationId)).body.status).toBe('declined');
  });

  it('finishes an OAuth transaction that began before it', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const browser = await visitorFor(world, user, elicitationId);
    const callback = await browser.decideAtProvider(await browser.accept(elicitationId), 'alice');
    const providers = (world.config.providers ?? []).map(provider => ({
      ...Object(provider),
      displayName: 'Forge of Codes',
    }));
    await reload({ ...world.config, providers });
    await browser.get(callback);
    expect((await world.api.read(elicitationId)).body).toMatchObject({
      status: 'completed',
      authorization: { providerName: 'Forge of Codes' },
    });
  });

  it('ends an OAuth transaction cleanly whose provider it removes', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const browser = await visitorFor(world, user, elicitationId);
    const callback = await browser.decideAtProvider(await browser.accept(elicitationId), 'alice');
    const exchanged = world.provider.requests('token').length;
    await reload({ ...withServers(server => ({ ...server, providers: [] })), providers: [] });
    expect((await browser.get(callback)).status).toBeLessThan(500);
    expect((await world.api.read(elicitationId)).body.status).not.toBe('completed');
    expect(world.provider.requests('token')).toHaveLength(exchanged);
  });

  it('ends waiting reads with the present status, as a stopping replica does, and the next one learns the end', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const waiting = wait(elicitationId);
    await untilWaiting(1);
    await reload({ ...world.config, branding: { name: 'Harbour' } });
    const { status, body } = await waiting;
    expect([status, body]).toMatchObject([200, { elicitationId, status: 'pending' }]);
    const next = wait(elicitationId);
    await untilWaiting(1);
    await declineOnPage(world.raw(), elicitationId, user);
    expect((await next).body.status).toBe('declined');
  });

  it('ends event streams, as a stopping replica does, and those that resume miss no event', async () => {
    const names = ['tracker', 'wiki'];
    const before = await Promise.all(names.map(name => listen(gateway().address, { apiKey: keyOf(name) })));
    await reload(changing('wiki', { name: 'Another Wiki' }));
    await Promise.all(before.map(({ ended }) => ended));
    for (const [at, name] of names.entries()) {
      const { body } = await world.apiOf({ apiKey: keyOf(name) }).issue(formFor(world.subject()));
      using resumed = await listen(gateway().address, { apiKey: keyOf(name), lastEventId: before[at]?.lastId });
      await resumed.until(() => resumed.heard.some(({ data }) => data['elicitationId'] === body.elicitationId));
    }
  });

  it('does not end the call of a tool that waits: its MCP client continues it, as at a stop', async () => {
    await using endpoint = await startGatedEndpoint(world);
    const subject = world.subject();
    const asked = urlRequestOf(await modernCall(endpoint.url, { tool: 'connect', subject }));
    const elicitationId = elicitationIdOf(asked.url);
    const call = modernCall(endpoint.url, {
      tool: 'connect',
      subject,
      inputResponses: { [asked.key]: { action: 'accept' } },
      requestState: asked.requestState,
    });
    await endpoint.untilHolding(elicitationId);
    await untilWaiting(1);
    await reload({ ...world.config, branding: { name: 'Harbour' } });
    const { requestState } = (await call).result ?? {};
    expect(requestState).toEqual(expect.any(String));
    await connectAccount(world.raw(), elicitationId, subject);
    expect((await modernCall(endpoint.url, { tool: 'connect', subject, requestState })).text).toBe('accept alice');
  });

  it('sends each webhook once while endpoints are added, changed and removed', async () => {
    await using receiver = await startWebhookReceiver();
    const endpoint = (concurrency = 8) => [
      { id: 'hook', url: receiver.url, secrets: [receiver.secret], statuses: ['cancelled' as const], concurrency },
    ];
    const expected: string[] = [];
    const cancelOne = async () => {
      const { elicitationId } = await world.ask(world.subject());
      await world.api.cancel(elicitationId);
      expected.push(elicitationId);
    };
    await reload(changing('tracker', { webhooks: endpoint() }));
    for (let round = 1; round <= 5; round += 1) {
      await cancelOne();
      await reload(changing('tracker', { webhooks: endpoint(round) }));
      await cancelOne();
      await reload({ ...changing('tracker', { webhooks: endpoint(round) }), branding: { name: `R${round}` } });
    }
    await vi.waitFor(() => expect(receiver.received).toHaveLength(expected.length), { timeout: 100_000 });
    await reload(world.config);
    await cancelOne();
    await reload(changing('tracker', { webhooks: endpoint() }));
    await cancelOne();
    await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(expected.length - 1), { timeout: 100_000 });
    expect(receiver.received.map(({ payload }) => payload.data.elicitationId).sort()).toEqual([...expected].sort());
  });

  it('refuses a faulty configuration, names its faults, and keeps the old one', async () => {
    const broken = changing('tracker', { providers: ['missing'] });
    expect(await reload(broken)).toEqual({
      result: 'refused',
      faults: [{ path: 'mcpServers[0].providers', message: '"missing" is not configured' }],
    });
    expect((await world.api.read('unknown')).status).toBe(404);
    expect(world.log()).toContain('"event":"config.refused"');
  });

  it('refuses a change that needs a restart, by its path', async () => {
    const name = 'Harbour';
    const next = { ...world.config, branding: { name }, retention: { endedHours: 5 }, events: { retained: 500 } };
    const refused = await reload(next);
    expect(refused).toMatchObject({ result: 'refused', faults: [{ path: 'retention' }, { path: 'events' }] });
    expect((await world.raw().get('/me')).body).not.toContain(name);
  });

  it('runs reloads one after the other, and shares those that wait', async () => {
    const load = vi.fn(() => parseConfig(world.config));
    const results = await Promise.all([1, 2, 3, 4].map(() => gateway().reload(load)));
    expect(results).toEqual(Array.from({ length: 4 }, () => ({ result: 'unchanged' })));
    expect(load).toHaveBeenCalledTimes(1);
  });
});

describe('S92: a reload that removes a credential', () => {
  const withdrawals = [
    ['its MCP server', () => without('tracker')],
    ['its API key', rotated],
  ] as const;

  it.each(withdrawals)('with %s, refuses its requests', async (_, next) => {
    const { elicitationId } = await world.ask(world.subject());
    await reload(next());
    expect((await world.api.read(elicitationId)).status).toBe(401);
  });

  it.each(withdrawals)('with %s, ends its waiting reads without a status', async (_, next) => {
    const { elicitationId } = await world.ask(world.subject());
    const waiting = wait(elicitationId);
    await untilWaiting(1);
    await reload(next());
    const { status, body } = await waiting;
    expect([status, body.code]).toEqual([401, 'unauthenticated']);
    expect(body).not.toHaveProperty('status', 'pending');
  });

  it.each(withdrawals)('with %s, ends its event streams', async (_, next) => {
    using stream = await listen(gateway().address, { apiKey: keyOf('tracker') });
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    await stream.until(() => stream.heard.length > 0);
    const before = stream.heard.length;
    await reload(next());
    await stream.ended;
    await reload(world.config);
    await world.api.cancel(elicitationId);
    expect(stream.heard).toHaveLength(before);
  });

  it.each(withdrawals)('with %s, does nothing for a request whose body arrives later', async (_, next) => {
    const ask = askFor(world, world.subject());
    const body = JSON.stringify(ask);
    const outgoing = request(`${gateway().address}/v1/elicitations`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${keyOf('tracker')}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    const answered = new Promise<number>(resolve =>
      outgoing.once('response', ({ statusCode }) => resolve(statusCode ?? 0)),
    );
    outgoing.write(body.slice(0, 10));
    // Authenticated, but incomplete.
    await vi.waitFor(
      () =>
        new Promise<void>((resolve, reject) =>
          gateway().httpServer.getConnections((_error, count) =>
            count > 0 ? resolve() : reject(new Error('not yet')),
          ),
        ),
    );
    await (await fetch(`${gateway().address}/livez`)).text();
    await reload(next());
    outgoing.end(body.slice(10));
    expect(await answered).toBe(401);
    await reload(world.config);
    // An open elicitation of the first request would be found again.
    expect((await world.api.issue(ask)).status).toBe(201);
  });

  it('does not hand out an access token once its API key is revoked', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    await connectAccount(world.raw(), elicitationId, user);
    const { body } = await world.api.read(elicitationId);
    const connectionId = body.outcome?.connectionId ?? '';
    await reload(rotated());
    expect((await world.api.accessToken(connectionId)).status).toBe(401);
    const renewed = world.apiOf({ apiKey: NEW_KEY });
    expect((await renewed.accessToken(connectionId)).status).toBe(200);
  });

  it('lets a waiting read of another key of the same MCP server retry', async () => {
    const both = [{ hash: hashOf(keyOf('tracker')) }, { hash: hashOf(NEW_KEY) }];
    await reload(changing('tracker', { apiKeys: both }));
    const { elicitationId } = await world.ask(world.subject());
    const waiting = wait(elicitationId, NEW_KEY);
    await untilWaiting(1);
    await reload(rotated());
    expect((await waiting).body).toMatchObject({ elicitationId, status: 'pending' });
  });
});

describe('many reloads', () => {
  it('lose none of the requests during them', async () => {
    const statuses = new Map<number, number>();
    let isOver = false;
    const caller = async () => {
      while (!isOver) {
        const { status } = await world.api.read(`el_${'0'.repeat(46)}`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const callers = Array.from({ length: 8 }, caller);
    for (let round = 0; round < (isShortRun ? 6 : 20); round += 1) {
      await reload({ ...changing('wiki', { name: `Wiki ${round}` }), branding: { name: `Round ${round}` } });
      const reached = [...statuses.values()].reduce((sum, count) => sum + count, 0) + 20;
      await vi.waitFor(
        () => expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(reached),
        { timeout: 100_000, interval: 5 },
      );
    }
    isOver = true;
    await Promise.all(callers);
    expect([...statuses.keys()]).toEqual([404]);
  });

  it('leave no listener, timer or connection behind', async () => {
    await using receiver = await startWebhookReceiver();
    const endpoint = (concurrency: number) => [
      { id: 'lasting', url: receiver.url, secrets: [receiver.secret], concurrency },
    ];
    const step = (round: number) =>
      reload({
        ...changing('wiki', { name: `Wiki ${round}`, webhooks: endpoint(1 + (round % 3)) }),
        branding: { name: `Round ${round}` },
      });
    const sockets = () => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length;
    const listeners = () => getEventListeners(gateway().deps.stopping.closing, 'abort').length;
    for (let round = 0; round < 5; round += 1) await step(round);
    const [socketsBefore, listenersBefore] = [sockets(), listeners()];
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => warnings.push(message);
    process.on('warning', onWarning);
    const generations: WeakRef<object>[] = [];
    for (let round = 0; round < (isShortRun ? 8 : 50); round += 1) {
      generations.push(new WeakRef(gateway().app));
      await step(round);
    }
    await vi.waitFor(() => expect(sockets()).toBeLessThanOrEqual(socketsBefore + 2), { timeout: 100_000 });
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
    expect(listeners()).toBe(listenersBefore);
    await vi.waitFor(
      () => {
        collectGarbage();
        expect(generations.filter(app => app.deref() !== undefined).length).toBeLessThan(5);
      },
      { timeout: 100_000 },
    );
  });
});
