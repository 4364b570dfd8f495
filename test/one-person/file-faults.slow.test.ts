/** What happens to the file of one person's gateway and to its process: kills, a full disk, a read-only disk, a second gateway. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayConfigInput } from '@postern/gateway';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { deletion, issueFor, paymentOf } from '../support/asks.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { sessionOf } from '../support/payment-person.ts';
import { createRawBrowser } from '../support/raw-browser.ts';
import { seeded } from '../support/seeded-random.ts';
import { askFor, createApi, freePort, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

const SEED = Number(process.env['POSTERN_SEED'] ?? 20_261_128);
const PATIENCE = { timeout: 100_000 };

let world: PayingWorld;
/** For one test. */
let used: AsyncDisposableStack;
let lines: string[];

beforeAll(async () => {
  const publicUrl = `http://localhost:${await freePort()}`;
  world = await startWorld({ store: 'file', replicas: 0, publicUrl, payment: {}, people: 10_000 });
});
beforeEach(() => {
  used = new AsyncDisposableStack();
  lines = [];
});
afterEach(() => used.disposeAsync());
afterAll(() => world?.[Symbol.asyncDispose]());

/** @param launcher in front of the process, which then has a disk of its own */
const start = (change: Partial<GatewayConfigInput> = {}, launcher: readonly string[] = []) =>
  startGatewayProcess({ ...world.config, ...change }, { launcher, onLine: line => void lines.push(line) });
const apiAt = ({ address }: GatewayProcess) => createApi(address, keyOf('tracker'));
const browserAt = ({ address }: GatewayProcess) =>
  createRawBrowser({ address, publicUrl: world.publicUrl, signsIn: false });
const confirmation = { kind: 'confirmation', confirmation: deletion } as const;
const logged = (event: string) => lines.filter(line => line.includes(`"event":"${event}"`));

async function crash(gateway: GatewayProcess): Promise<void> {
  await gateway.kill();
  await gateway.restart();
}

describe('a killed gateway on a file', () => {
  it('goes on in the middle of connecting, and exchanges the code once', async () => {
    const gateway = used.use(await start());
    const [api, raw, user] = [apiAt(gateway), browserAt(gateway), world.subject()];
    const { elicitationId } = (await api.issue(askFor(world, user))).body;
    const atProvider = await raw.accept(elicitationId);
    await crash(gateway);
    const callback = await raw.decideAtProvider(atProvider, 'alice');
    await crash(gateway);
    expect((await raw.get(callback)).status).toBe(303);
    await crash(gateway);
    await raw.get(callback);
    expect(world.provider.requests('token')).toHaveLength(1);
    const { status, outcome } = (await api.read(elicitationId)).body;
    expect(status).toBe('completed');
    expect((await api.accessToken(outcome?.connectionId ?? '')).status).toBe(200);
    expect((await api.remove(outcome?.connectionId ?? '')).status).toBe(200);
  });

  it('keeps an approval, redeems it once, and gives a repeated request the same answer', async () => {
    const gateway = used.use(await start());
    const [api, raw, user] = [apiAt(gateway), browserAt(gateway), world.subject()];
    const { elicitationId } = await issueFor({ ...world, api }, user, confirmation);
    const form = await raw.acceptForm(elicitationId);
    await crash(gateway);
    expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(303);
    await crash(gateway);
    expect((await api.read(elicitationId)).body.status).toBe('completed');
    const redeemed = await api.redeem(elicitationId, { 'idempotency-key': 'first' });
    expect(redeemed.status).toBe(200);
    await crash(gateway);
    expect((await api.redeem(elicitationId, { 'idempotency-key': 'first' })).body).toEqual(redeemed.body);
    expect((await api.redeem(elicitationId, { 'idempotency-key': 'other' })).body.code).toBe('already_redeemed');
  });

  it('charges a payment once', async () => {
    const gateway = used.use(await start());
    const [api, raw, user] = [apiAt(gateway), browserAt(gateway), world.subject()];
    const { elicitationId } = await issueFor({ ...world, api }, user, paymentOf());
    const page = `/e/${elicitationId}`;
    await raw.post(`${page}/accept`, { form: await raw.acceptForm(elicitationId) });
    await crash(gateway);
    world.stripe.pay(sessionOf(world.stripe, elicitationId).id);
    await raw.get(`${page}/charge`);
    await crash(gateway);
    await vi.waitFor(async () => expect((await api.read(elicitationId)).body.status).toBe('completed'), PATIENCE);
    sessionOf(world.stripe, elicitationId);
  });

  it(`loses nothing that it has answered, at any moment (seed ${SEED})`, async () => {
    const random = seeded(SEED);
    const gateway = used.use(await start());
    const answered: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      let isDown = false;
      const issuing = Array.from({ length: 4 }, async () => {
        while (!isDown) {
          const issued = await issueFor({ ...world, api: apiAt(gateway) }, world.subject(), confirmation).catch(
            () => undefined,
          );
          if (issued !== undefined) answered.push(issued.elicitationId);
        }
      });
      const goal = answered.length + 1 + random.below(40);
      await vi.waitUntil(() => answered.length >= goal, { ...PATIENCE, interval: 1 });
      await gateway.kill();
      isDown = true;
      await Promise.all(issuing);
      await gateway.restart();
    }
    const found = await Promise.all(answered.map(id => apiAt(gateway).read(id)));
    expect(found.map(({ status }) => status)).toEqual(answered.map(() => 200));
    expect(new Set(answered).size).toBe(answered.length);
  });
});

it('a second gateway on the file is refused by name, and the first one serves', async () => {
  const gateway = used.use(await start());
  await expect(start()).rejects.toThrow(/exited/);
  expect(lines.join('\n')).toContain(world.file);
  expect(lines.join('\n')).toContain('Another process');
  expect((await issueFor({ ...world, api: apiAt(gateway) }, world.subject(), confirmation)).status).toBe('pending');
});

describe.skipIf(spawnSync('unshare', ['--mount', 'true']).status !== 0)('a disk of its own', () => {
  let disk: string;
  beforeEach(() => {
    disk = mkdtempSync(join(tmpdir(), 'postern-disk-'));
    used.defer(() => rmSync(disk, { recursive: true }));
  });
  const onDisk = (options: string) => [
    ...['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"', 'sh'],
    ...[options, disk],
  ];

  it('answers 503 on a full disk, still reads, says so, and goes on when there is space', async () => {
    const gateway = used.use(await start({ store: { file: join(disk, 'postern.sqlite') } }, onDisk('size=1m')));
    const [api, raw] = [apiAt(gateway), browserAt(gateway)];
    const { elicitationId } = await issueFor({ ...world, api }, world.subject(), confirmation);
    const form = await raw.acceptForm(elicitationId);
    const ready = async () => await (await fetch(`${gateway.address}/readyz`)).json();
    expect(await ready()).toMatchObject({ writes: true });

    // The disk as this process sees it.
    const filler = `/proc/${gateway.pid}/root${disk}/filler`;
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'], { stdio: 'ignore' });
    const refused = await api.issue({ ...askFor(world, world.subject()) });
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect((await api.read(elicitationId)).body.status).toBe('pending');
    const page = await raw.post(`/e/${elicitationId}/accept`, { form });
    expect(page.status).toBe(503);
    expect(await ready()).toMatchObject({ status: 'ready', writes: false });
    expect(logged('store.writes_refused').map(line => JSON.parse(line).codes)).toEqual([['disk_full']]);
    expect(lines.join('\n') + page.body + JSON.stringify(refused.body)).not.toMatch(/redis/i);

    rmSync(filler);
    expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(303);
    expect((await api.read(elicitationId)).body.status).toBe('completed');
    expect(await ready()).toMatchObject({ writes: true });
    expect(logged('store.writes_regained')).toHaveLength(1);
  });

  it('does not start on a read-only disk, and names the file', async () => {
    const file = join(disk, 'postern.sqlite');
    await expect(start({ store: { file } }, onDisk('ro'))).rejects.toThrow(/exited/);
    expect(lines.join('\n')).toContain(file);
    expect(lines.join('\n')).not.toMatch(/redis/i);
  });
});

it('a clock that goes back by an hour stops no flow', async () => {
  await using moving = await startWorld({ store: 'file' });
  moving.clock.ahead = 3_600_000;
  const user = moving.subject();
  const { elicitationId } = await moving.ask(user);
  const raw = moving.raw();
  const atProvider = await raw.accept(elicitationId);
  moving.clock.backToNow();
  expect((await raw.get(await raw.decideAtProvider(atProvider, 'alice'))).status).toBe(303);
  const { status, outcome } = (await moving.api.read(elicitationId)).body;
  expect(status).toBe('completed');
  expect((await moving.api.accessToken(outcome?.connectionId ?? '')).status).toBe(200);
  expect((await moving.api.issue(askFor(moving, user))).body.status).toBe('completed');
});
