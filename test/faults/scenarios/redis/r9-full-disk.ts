import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startRedis } from '@postern/testkit/redis';
import { createApi, freePort, keyOf } from '../../../support/world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';
import { startTraffic } from '../../traffic.ts';
import { expectOnlyUnavailable, expectRecovered, note, startPair, unavailableAnswers } from './common.ts';

const DISK_BYTES = 8 << 20;

/** A small file system for one test. Needs root. */
async function mountDisk(run: FaultRun): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-disk-'));
  run.stack.defer(() => rm(directory, { recursive: true, force: true }));
  const command = promisify(execFile);
  await command('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', directory]);
  run.stack.defer(async () => {
    await command('umount', ['--lazy', directory]);
  });
  return directory;
}

/** Fills the file system. */
async function fill(path: string): Promise<void> {
  await using file = await open(path, 'w');
  const block = Buffer.alloc(64 << 10);
  for (let size = block.byteLength; size >= 512; size /= 2) {
    try {
      for (;;) await file.write(block.subarray(0, size));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    }
  }
}

const fullDisk: Scenario = {
  item: 'R9',
  name: 'the disk of the append-only file is full: writes are refused, reads continue, the metrics show it',
  needs: ['namespaces'],
  async run(run) {
    const disk = await mountDisk(run);
    const redis = run.stack.use(await startRedis({ args: ['--dir', disk] }));
    const metricsPort = await freePort();
    const { world, addresses } = await startPair(run, { url: redis.url });
    const observed = await world.startGateway('observed', {
      config: config => ({ ...config, metrics: { port: metricsPort } }),
    });
    const traffic = await startTraffic(run, { world, attempts: 40 });
    await traffic.more(6);

    note(run, 'disk full');
    const ballast = join(disk, 'ballast');
    await writeFile(ballast, '');
    await fill(ballast);
    await until('Redis refuses to write', async () =>
      (await redis.ask('INFO', 'errorstats')).includes('errorstat_MISCONF'),
    );
    const before = unavailableAnswers(run);
    await until('answers 503', () => unavailableAnswers(run) > before + 2);
    await expectReads(run, observed.address);
    await until('the metrics tell', async () => (await faultsAt(metricsPort)) > 0);

    await rm(ballast);
    note(run, 'space again');
    // Redis retries once a second.
    await until('Redis writes again', async () =>
      (await redis.ask('INFO', 'persistence')).includes('aof_last_write_status:ok'),
    );
    await expectRecovered(run, addresses);
    await traffic.more(4);
    await traffic.settle();
    expectOnlyUnavailable(run);
  },
};

/** Acknowledged elicitations stay readable throughout. */
async function expectReads(run: FaultRun, address: string): Promise<void> {
  const { entries } = run.history;
  const issued = entries.findLast(entry => entry.what === 'response' && entry.http === 201);
  if (issued?.what !== 'response' || issued.elicitationId === undefined) throw new Error('no elicitation was issued');
  const asked = entries.find(entry => entry.what === 'request' && entry.call === issued.call);
  const mcpServerId = /^mcp:(.+)$/.exec(asked?.who ?? '')?.[1] ?? '';
  assert.equal((await createApi(address, keyOf(mcpServerId)).read(issued.elicitationId)).status, 200);
}

/** Commands that Redis refused, according to the metrics. */
async function faultsAt(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(/^postern_redis_command_errors_total\{[^}]*fault="refused"[^}]*\} (\d+)/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

export const fullDisks: readonly Scenario[] = [fullDisk];
