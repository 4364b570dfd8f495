import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { endingWithParent } from '@postern/testkit/processes';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { compiledGateway } from '../support/compiled-gateway.ts';
import { endWithUs } from '../support/end-with-us.ts';
import { listen } from '../support/event-listener.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

/** As in infra/systemd/postern.service and the chart: the supervisor kills what has not exited by then. */
const WITHIN = { timeout: 100_000, interval: 50 };
const program = join(dirname(createRequire(import.meta.url).resolve('@postern/gateway')), 'postern.ts');
const because = ['--by', 'olga', '--reason', 'memory grows'];

let world: World;
let folder: string;
let config: string;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  world = stack.use(await startWorld({ config: { stop: { drainSeconds: 1, finishSeconds: 60 } } }));
  folder = await mkdtemp(join(tmpdir(), 'postern-drained-'));
  stack.defer(() => rm(folder, { recursive: true }));
  config = join(folder, 'postern.config.yaml');
  await writeFile(config, JSON.stringify(world.config), { mode: 0o600 });
});
afterAll(() => stack.disposeAsync());

/** Runs the `postern` command as operators do: in a process of its own. */
async function postern(...args: readonly string[]): Promise<{ readonly code: number | null; readonly out: string }> {
  const env = { ...process.env, ...(await compiledGateway()) };
  const command = [process.execPath, program, ...args, '-c', config] as const;
  const [executable, ...rest] = command;
  const child = endWithUs(spawn(...endingWithParent(executable, rest), { env, stdio: ['ignore', 'pipe', 'inherit'] }));
  let out = '';
  child.stdout?.setEncoding('utf8').on('data', text => {
    out += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out };
}

interface Listed {
  readonly replicaId: string;
  readonly instance: string;
  readonly status: string;
}
const listedAs = async (replica: GatewayProcess): Promise<Listed | undefined> =>
  (JSON.parse((await postern('replicas', '--json')).out) as { replicas: Listed[] }).replicas.find(({ instance }) =>
    instance.endsWith(`:${replica.pid}`),
  );
const readyAt = async ({ address }: GatewayProcess) => (await fetch(`${address}/readyz`)).status;
const waitAt = (replica: GatewayProcess, elicitationId: string) =>
  fetch(`${replica.address}/v1/elicitations/${elicitationId}?wait=55`, {
    headers: { authorization: `Bearer ${keyOf('tracker')}` },
  });

describe('postern drain on a process', () => {
  it('S134, S175: is unready, ends its waits, serves until it is stopped, and exits with 0 on SIGTERM', async () => {
    await using replica = await startGatewayProcess(world.config);
    const { elicitationId } = await world.ask(world.subject());
    await vi.waitFor(async () => expect(await listedAs(replica)).toMatchObject({ status: 'serving' }), WITHIN);
    const { replicaId = '' } = (await listedAs(replica)) ?? {};
    expect(await readyAt(replica)).toBe(200);
    const waiting = waitAt(replica, elicitationId);
    using stream = await listen(replica.address, { apiKey: keyOf('tracker') });

    const drained = await postern('drain', replicaId, ...because, '--json');
    expect([drained.code, JSON.parse(drained.out)]).toEqual([0, expect.objectContaining({ status: 'drained' })]);
    expect([(await waiting).status, await (await waiting).json()]).toEqual([
      200,
      expect.objectContaining({ status: 'pending' }),
    ]);
    await stream.ended;
    // Unready, and alive: Kubernetes sends no requests and does not restart it.
    expect([await readyAt(replica), (await fetch(`${replica.address}/livez`)).status]).toEqual([503, 200]);
    const late = await waitAt(replica, elicitationId);
    expect([late.status, late.headers.get('connection')]).toEqual([200, 'close']);

    replica.signal('SIGTERM');
    expect(await replica.ended()).toEqual({ code: 0, signal: null });
    expect(await listedAs(replica)).toBeUndefined();
  });

  it('S175: SIGTERM while it drains, as from a supervisor that does not know of the order, ends its waits and exits with 0', async () => {
    await using replica = await startGatewayProcess(world.config);
    const { elicitationId } = await world.ask(world.subject());
    await vi.waitFor(async () => expect(await listedAs(replica)).toMatchObject({ status: 'serving' }), WITHIN);
    const { replicaId = '' } = (await listedAs(replica)) ?? {};
    const waiting = waitAt(replica, elicitationId);
    const draining = postern('drain', replicaId, ...because);
    await vi.waitFor(async () => expect(await readyAt(replica)).toBe(503), WITHIN);
    replica.signal('SIGTERM');
    expect((await waiting).status).toBe(200);
    expect(await replica.ended()).toEqual({ code: 0, signal: null });
    // The command ends too, with the replica drained or gone.
    expect((await draining).code).toBe(0);
  });
});
