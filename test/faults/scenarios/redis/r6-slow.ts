import assert from 'node:assert/strict';
import { startRedis } from '@postern/testkit/redis';
import { createApi, keyOf } from '../../../support/world.ts';
import { HANG_MS } from '../../hang.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';
import { startTraffic } from '../../traffic.ts';
import { expectOnlyUnavailable, expectRecovered, isReady, note, startPair } from './common.ts';

/** `commandTimeout`, three times: for the first attempt, for the reconnect, and for the retry of a repeatable command. */
const LONGEST_MS = 3 * 2_000;
/** Slack for the machine. In untimed runs a request only has to end. */
const slackMs = ({ isTimed }: FaultRun) => (isTimed ? 2_000 : HANG_MS);
const CROWD = 200;

const slow: Scenario = {
  item: 'R6',
  name: 'Redis responds 100 ms to 5 s late: requests fail in time or succeed, and nothing is duplicated',
  async run(run) {
    const redis = run.stack.use(await startRedis());
    const { world, gateways, addresses } = await startPair(run, { url: redis.url }, { hasRedisLink: true });
    const traffic = await startTraffic(run, { world });
    await traffic.more(6);
    const latencies = run.isLong
      ? [100, 500, 1_500, 3_000, 5_000]
      : [run.random.between(100, 500), run.random.between(2_500, 5_000)];
    for (const latencyMs of latencies) {
      note(run, `answers late by ${latencyMs} ms`);
      const toxics = gateways.map(({ redisLink }) =>
        redisLink.add({ type: 'latency', direction: 'downstream', latencyMs }),
      );
      const issued = await Promise.all(addresses.map(address => timed(address)));
      for (const { tookMs, status } of issued) {
        assert.ok(status === 404 || status === 503, `answered with ${status}`);
        assert.ok(tookMs < LONGEST_MS + slackMs(run), `answered after ${tookMs} ms`);
      }
      for (const toxic of toxics) toxic[Symbol.dispose]();
      note(run, 'answers in time');
      await expectRecovered(run, addresses, `ready after ${latencyMs < 1_000 ? 'little' : 'much'} latency`);
      await traffic.more(4);
    }
    await traffic.settle();
    expectOnlyUnavailable(run);
  },
};

/** Reads an elicitation that does not exist. */
async function timed(address: string): Promise<{ readonly status: number; readonly tookMs: number }> {
  const api = createApi(address, keyOf('tracker'));
  const began = performance.now();
  const { status } = await api.read(`el_7f${'A'.repeat(43)}`);
  return { status, tookMs: performance.now() - began };
}

const frozen: Scenario = {
  item: 'R6',
  name: 'Redis freezes: requests fail in time without piling up, no gateway is ready, and all recover afterwards',
  async run(run) {
    const redis = run.stack.use(await startRedis());
    const { world, addresses } = await startPair(run, { url: redis.url });
    const traffic = await startTraffic(run, { world, attempts: 60 });
    await traffic.more(6);
    note(run, 'frozen');
    redis.suspend();
    const began = performance.now();
    await expectNoPile(run, addresses);
    await until('no gateway to be ready', async () =>
      (await Promise.all(addresses.map(isReady))).every(ready => !ready),
    );
    const left = (run.isLong ? 30_000 : 3_000) - (performance.now() - began);
    await new Promise(resolve => setTimeout(resolve, Math.max(left, 0)));
    redis.resume();
    note(run, 'thawed');
    await expectRecovered(run, addresses);
    await traffic.more(6);
    await traffic.settle();
    expectOnlyUnavailable(run);
  },
};

/** Concurrent requests take no longer than a single one. */
async function expectNoPile(run: FaultRun, addresses: readonly string[]): Promise<void> {
  const answers = await Promise.all(
    Array.from({ length: CROWD }, (_, n) => timed(addresses[n % addresses.length] ?? '')),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [503]);
  const slowest = Math.max(...answers.map(({ tookMs }) => tookMs));
  run.measure(`slowest of ${CROWD} while frozen`, slowest, 'ms');
  assert.ok(slowest < LONGEST_MS + slackMs(run), `answered after ${slowest} ms`);
}

export const slowness: readonly Scenario[] = [slow, frozen];
