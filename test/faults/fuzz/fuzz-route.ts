import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { INJECTED_HEADER, MARKUP } from '../../support/hostile-values.ts';
import type { RegisteredRoute } from '../../support/registered-routes.ts';
import { damaged } from './damage.ts';
import { type FuzzInput, toInput } from './draft.ts';
import { changesBetween, dumpQuickly } from './dump.ts';
import type { FuzzWorld } from './fuzz-world.ts';
import { draftsFor } from './route-drafts.ts';
import { startTurnMeter } from './turn-meter.ts';

export interface FuzzResult {
  readonly inputs: number;
  readonly seconds: number;
  /** Number of responses by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Time per input in a concurrent batch, in milliseconds. */
  readonly p99Ms: number;
  readonly slowestMs: number;
}

/** Concurrent requests. */
const AT_ONCE = 32;
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
/** Inputs between two dumps of Redis. */
const BATCH = 2_000;
/** Every nth input goes over a socket, up to this body size. */
const OVER_WIRE_EVERY = 20;
const OVER_WIRE_BYTES = 65_536;
/** Maximum processor time of one input in one turn of the event loop, which blocks all other requests. */
const TURN_MS = 20;
/** Garbage collection and just-in-time compilation can fall into a turn, but not into so many in a row. */
const MEASUREMENTS = 8;
/** A busy machine may make Redis too slow for one response. An input that always gets this response is a fault. */
const REPEATS = 5;

/**
 * Sends damaged requests to one route. Each response must be valid by the contract, and a refused request must change nothing.
 * @throws with the input and the seed that repeats it
 */
export async function fuzzRoute(
  world: FuzzWorld,
  route: RegisteredRoute,
  { inputs, seed }: { readonly inputs: number; readonly seed: number },
): Promise<FuzzResult> {
  const statuses = new Map<number, number>();
  const times: number[] = [];
  const startedAt = performance.now();
  let sent = 0;
  for (let batch = 0; sent < inputs; batch += 1) {
    const which = batch % 2 === 0 && (!isSafe(route) || isApi(route)) ? 'refused' : 'odd';
    const count = Math.min(BATCH, Math.ceil(inputs / 2), inputs - sent);
    const batchSeed = seed + batch;
    await refreshPatiently(world);
    const requests = fc
      .sample(damaged(await draftsFor(route, world), which), { numRuns: count, seed: batchSeed })
      .map(toInput);
    const url = world.redis.url;
    const before = await dumpQuickly(url);
    const { isTaken, suspects } = await sendAll(world, requests, { statuses, times, seed: batchSeed });
    const changed = changesBetween(before, await dumpQuickly(url), Date.now());
    const describe = () => `${route.method} ${route.path}, seed ${batchSeed}`;
    if (which === 'refused' && isTaken) throw new Error(`accepted an input that must be refused: ${describe()}`);
    if (changed.length > 0 && (which === 'refused' || !isTaken || isSafe(route)))
      throw new Error(`must change nothing, but changed ${changed.slice(0, 5).join(', ')}: ${describe()}`);
    for (const input of suspects) await assertShortTurns(world, input, batchSeed);
    sent += count;
  }
  const after = await dumpQuickly(world.redis.url);
  const lost = [...world.bystander].filter(([key, { value }]) => after.get(key)?.value !== value);
  if (lost.length > 0) throw new Error(`keys of another user changed: ${lost.map(([key]) => key).join(', ')}`);
  times.sort((a, b) => a - b);
  return {
    inputs: sent,
    seconds: (performance.now() - startedAt) / 1000,
    statuses,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
    slowestMs: times.at(-1) ?? 0,
  };
}

/** Repeats requests that a busy machine has refused. */
async function refreshPatiently(world: FuzzWorld): Promise<void> {
  for (let repeats = REPEATS; ; repeats -= 1) {
    try {
      await world.refresh();
      return;
    } catch (error) {
      if (repeats === 0) throw error;
      await delay(1_000);
    }
  }
}

/** GET and HEAD change nothing unless they consume a one-time value. The return from a sign-out redirects whatever its value is. */
function isSafe({ method, path }: RegisteredRoute): boolean {
  return (method === 'GET' || method === 'HEAD') && !/^\/(?:login\/)?callback|\/login\/continue/.test(path);
}

const isApi = ({ path }: RegisteredRoute): boolean => path.startsWith('/v1/');

interface Sent {
  /** A request that can change something succeeded. */
  readonly isTaken: boolean;
  /** In flight during a turn of the event loop that took too long. */
  readonly suspects: ReadonlySet<FuzzInput>;
}

async function sendAll(
  world: FuzzWorld,
  requests: readonly FuzzInput[],
  p: { readonly statuses: Map<number, number>; readonly times: number[]; readonly seed: number },
): Promise<Sent> {
  let isTaken = false;
  let next = 0;
  const underWay = new Set<FuzzInput>();
  const suspects = new Set<FuzzInput>();
  using _meter = startTurnMeter(ms => {
    if (ms > TURN_MS) for (const input of underWay) suspects.add(input);
  });
  const lane = async () => {
    for (let input = requests[next++]; input !== undefined; input = requests[next++]) {
      const startedAt = performance.now();
      underWay.add(input);
      const status = await sendOne(world, input, { seed: p.seed, isOverWire: next % OVER_WIRE_EVERY === 0 });
      underWay.delete(input);
      p.times.push(performance.now() - startedAt);
      p.statuses.set(status, (p.statuses.get(status) ?? 0) + 1);
      if (status < 400) isTaken = true;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return { isTaken, suspects };
}

/** @throws if the input alone makes every turn too long */
async function assertShortTurns(world: FuzzWorld, input: FuzzInput, seed: number): Promise<void> {
  const turns: number[] = [];
  using meter = startTurnMeter();
  while (turns.length < MEASUREMENTS) {
    await delay(0);
    meter.reset();
    await answerTo(world, input, false);
    if (meter.longestMs <= TURN_MS) return;
    turns.push(Math.round(meter.longestMs));
  }
  throw new Error(`turns of ${turns.join(', ')} ms, seed ${seed}: ${JSON.stringify(input).slice(0, 1500)}`);
}

interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Injects the request without a socket, which takes a third of the time. */
async function inject({ gateway, publicUrl }: FuzzWorld, input: FuzzInput): Promise<Answer> {
  const answer = await gateway.app.inject({
    method: input.method as 'GET',
    url: input.url,
    headers: { host: new URL(publicUrl).host, ...input.headers },
    payload: input.body,
    payloadAsStream: true,
  });
  const { statusCode, headers } = answer;
  // A stream that was opened does not end.
  if (headers['content-type'] !== 'text/event-stream')
    return { statusCode, headers, body: await text(answer.stream()) };
  answer.stream().destroy();
  return { statusCode, headers, body: '' };
}

/** Sends the request over a socket. `undefined`: Node's client cannot send it. */
async function sendOverWire(
  { gateway, publicUrl }: FuzzWorld,
  { method, url, headers, body }: FuzzInput,
): Promise<Answer | undefined> {
  const { hostname, port } = new URL(gateway.address);
  const { host } = new URL(publicUrl);
  // Node's client does not frame the body of a GET or DELETE by itself.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  let outgoing: ClientRequest;
  try {
    outgoing = request({ hostname, port, method, path: url, headers: { host, ...length, ...headers }, agent });
  } catch {
    return undefined;
  }
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  const { statusCode = 0, headers: received } = incoming;
  if (received['content-type'] !== 'text/event-stream')
    return { statusCode, headers: received, body: await text(incoming) };
  incoming.destroy();
  return { statusCode, headers: received, body: '' };
}

async function answerTo(world: FuzzWorld, input: FuzzInput, isOverWire: boolean): Promise<Answer> {
  // The injection does not accept every URL.
  const isInjectable = URL.canParse(input.url, world.publicUrl);
  const isSmall = (input.body?.length ?? 0) <= OVER_WIRE_BYTES;
  const answer = !isInjectable || (isOverWire && isSmall) ? await sendOverWire(world, input) : undefined;
  return answer ?? inject(world, input);
}

interface Sending {
  readonly seed: number;
  readonly isOverWire: boolean;
}

async function sendOne(world: FuzzWorld, input: FuzzInput, p: Sending, repeats = REPEATS): Promise<number> {
  const { publicUrl } = world;
  const answer = await answerTo(world, input, p.isOverWire);
  if (answer.statusCode === 503 && repeats > 0) {
    await delay(1_000);
    return sendOne(world, input, p, repeats - 1);
  }
  const fault =
    faultOf(answer.statusCode, answer.headers, answer.body, publicUrl) ??
    (answer.statusCode === (input.answeredBy ?? answer.statusCode) ? undefined : `answered ${answer.statusCode}`);
  if (fault !== undefined)
    throw new Error(
      `${fault}, seed ${p.seed}: ${JSON.stringify(input).slice(0, 1500)} -> ${answer.body.slice(0, 300)}`,
    );
  return answer.statusCode;
}

/** A stack trace, a path of the repository, or an internal error message. */
const INNER = /\n\s+at |node:internal|\.ts:\d+|ReplyError|TypeError|\/node_modules\//;

/** Describes what is wrong with a response, regardless of the request. */
function faultOf(
  status: number,
  headers: Readonly<Record<string, unknown>>,
  body: string,
  publicUrl: string,
): string | undefined {
  if (status >= 500) return `answered ${status}`;
  const type = String(headers['content-type'] ?? '');
  if (type.startsWith('text/html') && body.includes(MARKUP)) return 'repeats markup';
  if (INJECTED_HEADER in headers) return 'splits the answer';
  if (INNER.test(body) && !type.includes('javascript')) return 'exposes internals';
  if (status >= 400 && body !== '' && !/^(application\/problem\+json|text\/html); charset=utf-8$/.test(type))
    return `refuses as ${type}`;
  const { location } = headers;
  if (typeof location === 'string' && !leadsHome(location, publicUrl)) return `leads to ${location}`;
  return undefined;
}

/** A redirect to our own origin or to this machine, where all configured parties are. */
function leadsHome(location: string, publicUrl: string): boolean {
  const url = URL.parse(location, publicUrl);
  return url !== null && ['localhost', '127.0.0.1'].includes(url.hostname) && url.protocol === 'http:';
}
