import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { HOP_CHANNEL } from '../children/hop.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { readiness, startChild } from '../support/child.ts';
import { apiHeaders, askBody, newSubject, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { type HttpAnswer, HttpConnection, httpRequest } from '../support/http-connection.ts';
import { compared, type Row } from '../support/row.ts';
import { median } from '../support/statistics.ts';

/** Before every single measurement on both sides, so that both find the machine equally asleep. */
const PAUSE_MS = 2;

interface Wakes {
  readonly fromRequest: number;
  readonly fromAnswer: number;
}

const issuedSchema = z.object({ elicitationId: z.string() });
const endedSchema = z.object({ status: z.literal('cancelled') });
const hopSchema = z.object({ microseconds: z.number() });

/** Two gateways on one Redis: a waiter on B hears of an end that was made on A, against one bare hop through that Redis. */
export async function wakeRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  const settings = { ...bench, redisUrl: redis.url, vaultKey: newVaultKey() };
  await using replicaA = await startGatewayProcess(settings);
  await using replicaB = await startGatewayProcess({ ...settings, publicUrl: replicaA.publicUrl });
  using deciding = await HttpConnection.open(replicaA.port);
  using waiting = await HttpConnection.open(replicaB.port);
  using looking = await HttpConnection.open(replicaB.port);

  let heard = Promise.withResolvers<number>();
  await using listener = startChild({
    module: 'test/bench/children/hop.ts',
    args: [redis.url],
    onMessage(message) {
      const hop = hopSchema.safeParse(message);
      if (hop.success) heard.resolve(hop.data.microseconds);
    },
  });
  await readiness(listener);
  const publisher = new Redis(redis.url);

  async function wake(): Promise<Wakes> {
    const issued = await deciding.request(
      httpRequest('POST', '/v1/elicitations', replicaA.port, apiHeaders, askBody(newSubject())),
    );
    if (issued.status !== 201) throw new Error(`issuing was answered with ${issued.status}: ${issued.body}`);
    const { elicitationId } = issuedSchema.parse(JSON.parse(issued.body));
    const path = `/v1/elicitations/${elicitationId}`;
    const answered = at(waiting.request(httpRequest('GET', `${path}?wait=30`, replicaB.port, apiHeaders)));
    // B answers what came later, so by now it has read for the waiter and waits.
    await looking.request(httpRequest('GET', path, replicaB.port, apiHeaders));
    await delay(PAUSE_MS);
    const sentAt = performance.now();
    const accepted = at(deciding.request(httpRequest('POST', `${path}/cancel`, replicaA.port, apiHeaders, '{}')));
    const [waiter, decision] = await Promise.all([answered, accepted]);
    endedSchema.parse(JSON.parse(waiter.answer.body));
    return { fromRequest: waiter.at - sentAt, fromAnswer: waiter.at - decision.at };
  }

  async function hop(): Promise<number> {
    heard = Promise.withResolvers();
    await delay(PAUSE_MS);
    await publisher.publish(HOP_CHANNEL, String(process.hrtime.bigint()).padStart(24, '0').padEnd(48, '-'));
    return (await heard.promise) / 1000;
  }

  const wakes: { request: number[]; answer: number[] } = { request: [], answer: [] };
  const hops: number[] = [];
  for (let run = -1; run < bench.runs; run += 1) {
    const woken = await repeat(bench.samples, wake);
    const hopped = median(await repeat(bench.samples, hop));
    // The first run is for warming up.
    if (run < 0) continue;
    wakes.request.push(median(woken.map(({ fromRequest }) => fromRequest)));
    wakes.answer.push(median(woken.map(({ fromAnswer }) => fromAnswer)));
    hops.push(hopped);
  }
  publisher.disconnect();
  return [
    compared(
      'wake across replicas, p50: request to A sent → waiter on B answered',
      'ms',
      'one publish→subscribe hop',
      { ours: wakes.request, baseline: hops },
      { bound: 'at most', value: 3 },
    ),
    compared('  of which after A has answered', 'ms', 'one publish→subscribe hop', {
      ours: wakes.answer,
      baseline: hops,
    }),
  ];
}

async function at(answer: Promise<HttpAnswer>): Promise<{ answer: HttpAnswer; at: number }> {
  return { answer: await answer, at: performance.now() };
}

async function repeat<T>(times: number, measure: () => Promise<T>): Promise<T[]> {
  const values: T[] = [];
  for (let time = 0; time < times; time += 1) values.push(await measure());
  return values;
}
