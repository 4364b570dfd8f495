import { setTimeout as delay } from 'node:timers/promises';
import { indexed, isTerminal } from '../checks/indexed.ts';
import type { FaultWorld } from '../fault-world.ts';
import { HANG_MS } from '../hang.ts';
import type { SeededRandom } from '../random.ts';
import type { FaultRun } from '../scenario.ts';
import { type Call, type Caller, factsOf } from './caller.ts';
import { cancel, takeToken } from './flow.ts';
import type { Listening } from './listening.ts';

export interface SettleOptions {
  /** Default: those of the traffic. */
  readonly replicas?: () => readonly string[];
  /** How long the gateways may take to be ready again. Default: until they hang. */
  readonly readyMs?: number;
  /** Which end by time alone is waited for instead of being brought about. Default false. */
  readonly untilExpired?: boolean;
}

interface Parts {
  readonly world: FaultWorld;
  readonly addresses: () => readonly string[];
  readonly callers: readonly Caller[];
  readonly listeners: ReadonlyMap<string, Listening>;
}

const LOOK_MS = 50;
const AT_ONCE = 12;

/** Brings everything to its end and writes down how it ended. */
export async function settleHistory(run: FaultRun, parts: Parts, options: SettleOptions): Promise<void> {
  const replicas = (options.replicas ?? parts.addresses)();
  const random = run.random.fork('settling');
  await untilReady(replicas, options.readyMs ?? HANG_MS);
  const mine = acknowledgedBy(run, parts.callers);
  await eachOf(mine, async ({ elicitationId, caller }) => {
    const read = await caller.read(elicitationId, random);
    if (isTerminal(read?.status)) return;
    if (options.untilExpired === true && read !== undefined) await untilEnded(caller, elicitationId, random);
    else await cancel(caller, elicitationId, random);
  });
  const ends = await readFinals(run, mine, replicas);
  await takeStock(run, parts, { replicas, random });
  const began = performance.now();
  const bound = began + HANG_MS;
  while (performance.now() < bound && !isAnnounced(run, parts, ends)) await delay(LOOK_MS);
  run.measure('announced after settling', performance.now() - began, 'ms');
}

/** @throws when a gateway does not become ready in time */
export async function untilReady(addresses: readonly string[], withinMs: number): Promise<void> {
  const bound = performance.now() + withinMs;
  for (const address of addresses) {
    for (;;) {
      const isReady = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(15_000) }).then(
        async answer => {
          await answer.body?.cancel();
          return answer.status === 200;
        },
        () => false,
      );
      if (isReady) break;
      if (performance.now() > bound) throw new Error(`${address} is not ready within ${withinMs} ms`);
      await delay(LOOK_MS);
    }
  }
}

interface Mine {
  readonly elicitationId: string;
  readonly caller: Caller;
}

function acknowledgedBy({ history }: FaultRun, callers: readonly Caller[]): Mine[] {
  const { acknowledged } = indexed(history.entries);
  return [...acknowledged.values()].flatMap(({ elicitationId, mcpServerId }) => {
    const caller = callers.find(each => each.mcpServerId === mcpServerId);
    return caller === undefined ? [] : [{ elicitationId, caller }];
  });
}

async function untilEnded(caller: Caller, elicitationId: string, random: SeededRandom): Promise<void> {
  for (let looks = 0; looks < 12; looks += 1)
    if (isTerminal((await caller.read(elicitationId, random, 5))?.status)) return;
}

/** @returns how each ended */
async function readFinals({ history }: FaultRun, mine: readonly Mine[], replicas: readonly string[]) {
  const ends = new Map<string, { readonly status: string; readonly mcpServerId: string }>();
  await eachOf(mine, async ({ elicitationId, caller }) => {
    const { mcpServerId } = caller;
    for (const replica of replicas) {
      const path = `/v1/elicitations/${elicitationId}`;
      const answer = await caller.call({ op: 'read', method: 'GET', path, elicitationId }, replica);
      const { status, outcome } = answer === undefined ? {} : factsOf(answer.body);
      history.record({
        ...{ who: 'harness', what: 'final', replica, mcpServerId, elicitationId, http: answer?.http ?? 0 },
        ...(status === undefined ? {} : { status }),
        ...(outcome === undefined ? {} : { outcome }),
      });
      if (isTerminal(status)) ends.set(elicitationId, { status, mcpServerId });
    }
  });
  return ends;
}

/** What the provider has issued, and whose connections there are. */
async function takeStock(
  run: FaultRun,
  { world, callers }: Parts,
  { replicas, random }: { readonly replicas: readonly string[]; readonly random: SeededRandom },
): Promise<void> {
  const { history } = run;
  // RFC 6749 section 4.1.2: a code is used once, whatever happened to the gateway that had it.
  const codes = world.world.provider.requests('token').flatMap(({ form }) => form['code'] ?? []);
  if (new Set(codes).size < codes.length) throw new Error('a code was sent twice');
  for (const { grantId, accountId: account, exchanges } of world.world.provider.tokens.grants())
    for (const _ of exchanges) history.record({ who: 'provider', what: 'token_issued', grantId, account });
  const { issuer } = world.world.identityProvider;
  for (const caller of callers)
    await eachOf(world.people, async subject => {
      const path = `/v1/connections?${new URLSearchParams({ issuer, subject })}`;
      const answer = await caller.insist({ op: 'connections', method: 'GET', path, subject }, random);
      const list = (answer?.body['connections'] ?? []) as {
        connectionId: string;
        provider: string;
        account?: { id: string };
      }[];
      if (answer?.http !== 200) throw new Error(`connections of ${subject} could not be listed: ${answer?.http}`);
      const { mcpServerId } = caller;
      history.record({
        ...{ who: 'harness', what: 'connections', mcpServerId, subject },
        list: list.map(({ connectionId, provider, account }) => ({
          ...{ connectionId, provider },
          ...(account === undefined ? {} : { account: account.id }),
        })),
      });
      // Wherever it is asked for, it is of one grant, and of the right person.
      for (const { connectionId } of list)
        for (const replica of replicas) {
          const to = { ...caller, insist: (call: Call) => caller.call(call, replica) };
          await takeToken({ run, world, caller: to }, { elicitationId: connectionId, connectionId, subject }, random);
        }
    });
}

/** On every channel of whoever asked. */
function isAnnounced(
  { history }: FaultRun,
  { listeners }: Parts,
  ends: ReadonlyMap<string, { readonly status: string; readonly mcpServerId: string }>,
): boolean {
  const receiving = new Map<string, Set<string>>();
  for (const entry of history.entries)
    if (entry.what === 'channel' && entry.channel !== 'events') receiving.set(entry.mcpServerId, new Set());
    else if (entry.what === 'delivery' && entry.answered === 204)
      receiving.get(entry.mcpServerId)?.add(`${entry.elicitationId} ${entry.status}`);
  for (const [elicitationId, { status, mcpServerId }] of ends) {
    const listener = listeners.get(mcpServerId);
    if (listener !== undefined && listener.ends.get(elicitationId) !== status) return false;
    if (receiving.get(mcpServerId)?.has(`${elicitationId} ${status}`) === false) return false;
  }
  return true;
}

/** A few at a time. */
async function eachOf<T>(list: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...list];
  const worker = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
