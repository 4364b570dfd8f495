import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { GatewayConfigInput } from '@postern/gateway';
import { startFaultProxy } from '@postern/testkit/fault-proxy';
import { crashPoints, matcherOf } from '../../crash-points.ts';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';
import { reached } from './kills.ts';

const cli = join(dirname(createRequire(import.meta.url).resolve('@postern/gateway')), 'cli', 'postern.ts');

/** `postern vault rewrap` is killed half way under traffic and run again. */
export const rewrapHalfWay: Scenario = {
  item: 'P10',
  name: 'key rotation: killed half way under traffic; every value opens, and the next run finishes the rotation',
  async run(run) {
    const world = await startFaultWorld(run);
    const [old] = world.config.vault.keys;
    if (old === undefined) throw new TypeError('a vault without a key');
    const fresh = { kid: 'fresh', key: randomBytes(32).toString('base64') };
    run.history.secret('vault key', fresh.key);
    // All replicas have both keys; those that started first still seal with the old one.
    const both = (config: GatewayConfigInput) => ({ ...config, vault: { keys: [old, fresh] } });
    const gateways = await Promise.all(['a', 'b'].map(name => world.startGateway(name, { config: both })));
    const kept = { disconnect: 0.1, walkAway: 0.05, decline: 0.05 };
    const traffic = await startTraffic(run, { world, kinds: ['authorization', 'form', 'credential'], shares: kept });
    await traffic.more(20);

    const rotated = { ...world.config, vault: { keys: [fresh, old] } };
    const link = run.stack.use(await startFaultProxy(redisPort(rotated), { protocol: 'resp' }));
    const through = { ...rotated, redis: { ...rotated.redis, url: `redis://127.0.0.1:${link.port}` } };
    const dying = await startRewrap(run, through);
    const struck = link.watch({
      moment: crashPoints.rewrapped.moment,
      matches: matcherOf(crashPoints.rewrapped),
      nth: run.random.between(2, 6),
      act() {
        dying.kill('SIGKILL');
        return 'cut';
      },
    });
    const ended = once(dying, 'exit');
    await reached('the replacement of a sealed value', struck);
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    run.history.record({ who: 'harness', what: 'fault', fault: 'killed half way', target: 'postern vault rewrap' });
    await traffic.more(8);

    // The rollout continues: all replicas seal with the new key, and the command runs again.
    for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
    const [next, other] = await Promise.all(
      ['c', 'd'].map(name => world.startGateway(name, { config: () => rotated })),
    );
    if (next === undefined || other === undefined) throw new TypeError('two gateways were started');
    await traffic.stop();
    const [code] = (await once(await startRewrap(run, rotated), 'exit')) as [number | null];
    assert.equal(code, 0, 'the next run did not finish');
    // No record needs the old key any more.
    const last = await world.startGateway('e', { config: config => ({ ...config, vault: { keys: [fresh] } }) });
    await traffic.settle({ replicas: () => [next.address, other.address, last.address] });
  },
};

function redisPort({ redis }: GatewayConfigInput): number {
  return Number(new URL(redis?.url ?? '').port);
}

async function startRewrap(run: FaultRun, config: GatewayConfigInput): Promise<ChildProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-rewrap-'));
  run.stack.defer(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'postern.config.yaml');
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  const { REDIS_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, [cli, 'vault', 'rewrap', '--reason', 'rotation', '--json', '-c', path], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const output of [child.stdout, child.stderr])
    output.on('data', (chunk: Buffer) => run.history.scan('output of postern vault rewrap', chunk.toString()));
  run.stack.defer(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  });
  return child;
}
