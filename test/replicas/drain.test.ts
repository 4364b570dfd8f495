import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { listen } from '../support/event-listener.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

const WITHIN = { timeout: 100_000, interval: 20 };
let world: World;
let folder: string;
let config: string;
beforeAll(async () => {
  world = await startWorld({
    replicas: 2,
    config: ({ identityProvider: { issuer } }) => ({
      stop: { drainSeconds: 0 },
      adminApi: { port: 0 },
      console: {
        publicUrl: 'http://127.0.0.1:7',
        listen: { port: 0 },
        identityProvider: { issuer, clientId: 'postern-console', clientSecret: 'console-secret' },
        roles: { claim: 'sub', operator: ['olga'] },
      },
    }),
  });
  folder = await mkdtemp(join(tmpdir(), 'postern-drain-'));
  config = join(folder, 'postern.config.yaml');
  await writeFile(config, JSON.stringify(world.config));
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const run = (...args: readonly string[]) => runCommand([...args, '-c', config]);
const because = ['--by', 'olga', '--reason', 'maintenance'];
const gatewayAt = (at: number) => {
  const gateway = world.gateways[at];
  if (gateway === undefined) throw new Error('no such replica');
  return gateway;
};
const readyAt = async (at: number) => (await fetch(`${gatewayAt(at).address}/readyz`)).status;
const listed = async () =>
  (JSON.parse((await run('replicas', '--json')).out) as { replicas: { replicaId: string; status: string }[] }).replicas;

describe('postern drain', () => {
  it('S134: a drained replica ends its waits with a status to retry on, and leaves all work to the others', async () => {
    const [draining, other] = [gatewayAt(0), gatewayAt(1)];
    await vi.waitFor(
      async () =>
        expect((await listed()).map(({ replicaId }) => replicaId).sort()).toEqual(
          [draining.replicaId, other.replicaId].sort(),
        ),
      WITHIN,
    );
    // Both replicas are in this process, so their host names are equal.
    const [host = ''] = /^[^:]+/.exec(JSON.parse((await run('replicas', '--json')).out).replicas[0].instance) ?? [];
    expect(await run('drain', host, ...because)).toMatchObject({ code: 1, out: '' });
    expect(await run('drain', draining.replicaId, ...because, '--dry-run')).toMatchObject({ code: 0 });
    expect(await readyAt(0)).toBe(200);

    const { elicitationId } = await world.ask(world.subject());
    const waiting = world.apiOf({ replica: 0 }).read(elicitationId, 50);
    using stream = await listen(draining.address, { apiKey: keyOf('tracker') });
    expect(await run('drain', draining.replicaId, ...because)).toMatchObject({ code: 0 });

    expect(await waiting).toMatchObject({ status: 200, body: { status: 'pending' } });
    await stream.ended;
    expect(stream.retryMs).toBeGreaterThan(0);
    expect([await readyAt(0), await readyAt(1)]).toEqual([503, 200]);
    expect((await listed()).find(({ replicaId }) => replicaId === draining.replicaId)?.status).toBe('drained');

    // It still answers what a load balancer sends before it has noticed, and closes the connection.
    const late = await fetch(`${draining.address}/v1/elicitations/${elicitationId}?wait=50`, {
      headers: { authorization: `Bearer ${keyOf('tracker')}` },
    });
    expect([late.status, late.headers.get('connection')]).toEqual([200, 'close']);

    // The leases are free: the other replica relays the end.
    using streamOfOther = await listen(other.address, { apiKey: keyOf('tracker') });
    expect((await world.apiOf({ replica: 1 }).cancel(elicitationId)).status).toBe(200);
    await streamOfOther.until(() => streamOfOther.heard.some(({ data }) => data['elicitationId'] === elicitationId));
  });

  it('S175: the console and the admin API of a drained replica answer, and close the connection', async () => {
    const { console: consoleOfIt, adminApi } = gatewayAt(0);
    const answers = await Promise.all([
      fetch(`${consoleOfIt?.address}/`),
      fetch(`${adminApi?.address}/admin/v1/openapi.json`),
      fetch(`${adminApi?.address}/admin/v1/elicitations`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 200, 401]);
    for (const { headers } of answers) expect(headers.get('connection')).toBe('close');
    const atOther = await fetch(`${gatewayAt(1).adminApi?.address}/admin/v1/openapi.json`);
    expect(atOther.headers.get('connection')).toBe('keep-alive');
  });

  it('S134: refuses to drain the last replica that serves, and leaves it serving', async () => {
    expect(await run('drain', gatewayAt(1).replicaId, ...because, '--dry-run')).toMatchObject({ code: 1, out: '' });
    expect(await run('drain', gatewayAt(1).replicaId, ...because)).toMatchObject({ code: 1, out: '' });
    expect(await readyAt(1)).toBe(200);
  });

  it('S134, S179: records who ordered it and why, without audit.stream', async () => {
    const { out } = await run('audit');
    const lines = out.split('\n').filter(line => line.includes('drain_ordered'));
    const events = lines.map(line => JSON.parse(line) as Record<string, unknown>);
    expect(events.filter(({ event }) => event === 'replica.drain_ordered')).toMatchObject([
      { replicaId: gatewayAt(0).replicaId, operator: 'olga', reason: 'maintenance' },
    ]);
  });

  it('S134: a drained replica stops as any other, and is no longer listed', async () => {
    await gatewayAt(0).close();
    expect((await listed()).map(({ replicaId }) => replicaId)).toEqual([gatewayAt(1).replicaId]);
  });
});
