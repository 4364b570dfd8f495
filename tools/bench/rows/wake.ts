import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { type HttpAnswer, HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { HOP_CHANNEL } from '../children/hop.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { captureCommand, captureCommands } from '../support/captured-command.ts';
import { readiness, startChild } from '../support/child.ts';
import { startFloor } from '../support/floor.ts';
import { apiHeaders, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { type Issued, issueOnce } from '../support/issuing.ts';
import { compared, type Row } from '../support/row.ts';
import { median, rounds } from '../support/statistics.ts';

/** Pause before each measurement, on both sides, so that the machine is equally idle. */
const PAUSE_MS = 2;

interface Wakes {
  readonly fromRequest: number;
  readonly fromAnswer: number;
}

const endedSchema = z.object({ status: z.literal('cancelled') });
const hopSchema = z.object({ microseconds: z.number() });

/** Addresses of a pair of processes: the user decides at one, and a caller waits at the other. */
interface Pair {
  readonly deciding: number;
  readonly waiting: number;
}

/**
 * Two gateways on one Redis: a waiter on B receives an end that was committed on A. Compared with one bare hop through Redis, and with two
 * processes that only exchange the same messages with each other and with Redis.
 */
export async function wakeRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  const settings = { ...bench, redisUrl: redis.url, vaultKey: newVaultKey() };
  await using replicaA = await startGatewayProcess(settings);
  await using replicaB = await startGatewayProcess({ ...settings, publicUrl: replicaA.publicUrl });
  const issue = () => issueOnce(replicaA);
  const commands = await commandsOf(redis.url, replicaA.port, issue);
  await using floorA = await startFloor(bench.directory, commands);
  await using floorB = await startFloor(bench.directory, commands);

  await using stack = new AsyncDisposableStack();
  const wake = stack.use(await waker({ deciding: replicaA.port, waiting: replicaB.port }, issue));
  const bareWake = stack.use(await waker({ deciding: floorA.port, waiting: floorB.port }, issue));
  const hops = stack.use(await hopper(redis.url));

  const [ours, floor, hopped] = [[] as Wakes[], [] as Wakes[], [] as number[]];
  for (const run of rounds(bench, -1)) {
    const woken = middle(await repeat(bench.samples, wake.once));
    const bare = middle(await repeat(bench.samples, bareWake.once));
    const hop = median(await repeat(bench.samples, hops.once));
    // The first run is a warm-up.
    if (run < 0) continue;
    ours.push(woken);
    floor.push(bare);
    hopped.push(hop);
  }
  const hop = 'one publish→subscribe hop';
  const bare = 'bare handlers, same commands';
  const request = 'wake across replicas, p50: request to A sent → waiter on B answered';
  const fromRequest = ours.map(wakes => wakes.fromRequest);
  const floorFromRequest = floor.map(wakes => wakes.fromRequest);
  const fromAnswer = ours.map(wakes => wakes.fromAnswer);
  return [
    compared(
      request,
      'ms',
      bare,
      { ours: fromRequest, baseline: floorFromRequest },
      { bound: 'at most', value: 2, profile: 'wake' },
    ),
    compared('  in hops', 'ms', hop, { ours: fromRequest, baseline: hopped }),
    compared('  the floor in hops', 'ms', hop, { ours: floorFromRequest, baseline: hopped }),
    compared('  of which after A has answered', 'ms', hop, { ours: fromAnswer, baseline: hopped }),
  ];
}

type Issue = () => Promise<Issued>;

/** The commands with which a gateway ends and reads an elicitation, and its wake-up channels. */
async function commandsOf(redisUrl: string, port: number, issue: Issue) {
  const redis = new Redis(redisUrl);
  const channels = z.array(z.string()).parse(await redis.pubsub('CHANNELS'));
  redis.disconnect();
  using connection = await HttpConnection.open(port);
  const send =
    (method: string, issued: Awaited<ReturnType<Issue>>, more = '') =>
    async () => {
      const path = `/v1/elicitations/${issued.id}${more}`;
      const { status } = await connection.request(
        httpRequest(method, path, port, apiHeaders, method === 'POST' ? '{}' : undefined),
      );
      if (status !== 200) throw new Error(`${method} ${path} was answered with ${status}`);
      return issued;
    };
  // The first call also loads the script into Redis.
  await send('POST', await issue(), '/cancel')();
  const issued = await issue();
  const read = await captureCommand(redisUrl, send('GET', issued));
  const cancel = await captureCommands(redisUrl, send('POST', issued, '/cancel'));
  // The woken process does everything after the commit, which wakes the others.
  const commit = cancel.findIndex(({ values }) =>
    values.some(([value]) => channels.some(channel => channel === value)),
  );
  return { redisUrl, channels, read, cancel: cancel.slice(0, commit + 1) };
}

async function waker(ports: Pair, issue: Issue) {
  const deciding = await HttpConnection.open(ports.deciding);
  const waiting = await HttpConnection.open(ports.waiting);
  const looking = await HttpConnection.open(ports.waiting);
  return {
    async once(): Promise<Wakes> {
      const { id } = await issue();
      const path = `/v1/elicitations/${id}`;
      const answered = at(waiting.request(httpRequest('GET', `${path}?wait=30`, ports.waiting, apiHeaders)));
      // B has responded to a later request, so by now it has read for the waiter and waits.
      await looking.request(httpRequest('GET', path, ports.waiting, apiHeaders));
      await delay(PAUSE_MS);
      const sentAt = performance.now();
      const accepted = at(deciding.request(httpRequest('POST', `${path}/cancel`, ports.deciding, apiHeaders, '{}')));
      const [waiter, decision] = await Promise.all([answered, accepted]);
      for (const { status, body } of [waiter.answer, decision.answer])
        if (status !== 200 || !endedSchema.safeParse(JSON.parse(body)).success)
          throw new Error(`answered with ${status}: ${body}`);
      return { fromRequest: waiter.at - sentAt, fromAnswer: waiter.at - decision.at };
    },
    [Symbol.dispose]() {
      for (const connection of [deciding, waiting, looking]) connection[Symbol.dispose]();
    },
  };
}

/** One message, from one process to another. */
async function hopper(redisUrl: string) {
  let heard = Promise.withResolvers<number>();
  const listener = startChild({
    module: 'tools/bench/children/hop.ts',
    args: [redisUrl],
    onMessage(message) {
      const hop = hopSchema.safeParse(message);
      if (hop.success) heard.resolve(hop.data.microseconds);
    },
  });
  await readiness(listener);
  const publisher = new Redis(redisUrl);
  return {
    async once(): Promise<number> {
      heard = Promise.withResolvers();
      await delay(PAUSE_MS);
      await publisher.publish(HOP_CHANNEL, String(process.hrtime.bigint()).padStart(24, '0').padEnd(48, '-'));
      return (await heard.promise) / 1000;
    },
    async [Symbol.asyncDispose]() {
      publisher.disconnect();
      await listener[Symbol.asyncDispose]();
    },
  };
}

function middle(wakes: readonly Wakes[]): Wakes {
  return {
    fromRequest: median(wakes.map(({ fromRequest }) => fromRequest)),
    fromAnswer: median(wakes.map(({ fromAnswer }) => fromAnswer)),
  };
}

async function at(answer: Promise<HttpAnswer>): Promise<{ answer: HttpAnswer; at: number }> {
  return { answer: await answer, at: performance.now() };
}

async function repeat<T>(times: number, measure: () => Promise<T>): Promise<T[]> {
  const values: T[] = [];
  for (let time = 0; time < times; time += 1) values.push(await measure());
  return values;
}
