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
  /** Default: the gateways of the traffic. */
  readonly replicas?: () => readonly string[];
  /** Maximum time until the gateways are ready. Default: the limit for hangs. */
  readonly readyMs?: number;
  /** Waits for open elicitations to expire instead of ending them. Default false. */
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

/** Ends every elicitation and records its final status. */
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

/** @throws if a gateway is not ready in time */
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

/** @returns the terminal status of each elicitation */
async function readFinals({ history }: FaultRun, mine: readonly Mine[], replicas: readonly string[]) {
  const ends = new Map<string, { readonly status: string; readonly mcpServerId: string }>();
  await eachOf(mine, async ({ elicitationId, caller }) => {
    const { mcpServerId } = caller;
    for (const replica of replicas) {
      const path = `/v1/elicitations/${elicitationId}`;
      const answer = await caller.call({ op: 'read', method: 'GET', path, elicitationId }, replica);
      const { status, outcome } = answer === undefined ? {} : factsOf(answer.body);
      history.record({
        who: 'harness',
        what: 'final',
        replica,
        mcpServerId,
        elicitationId,
        http: answer?.http ?? 0,
        status,
        outcome,
      });
      if (isTerminal(status)) ends.set(elicitationId, { status, mcpServerId });
    }
  });
  return ends;
}

/** Records the tokens that the provider issued, and the owners of all connections. */
async function takeStock(
  run: FaultRun,
  { world, callers }: Parts,
  { replicas, random }: { readonly replicas: readonly string[]; readonly random: SeededRandom },
): Promise<void> {
  const { history } = run;
  // RFC 6749 section 4.1.2: a code is used once, even if the gateway that had it was killed.
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
        who: 'harness',
        what: 'connections',
        mcpServerId,
        subject,
        list: list.map(({ connectionId, provider, account }) => ({
          connectionId,
          provider,
          ...(account === undefined ? {} : { account: account.id }),
        })),
      });
      // At every replica the token belongs to the same grant and to the right person.
      for (const { connectionId } of list)
        for (const replica of replicas) {
          const to = { ...caller, insist: (call: Call) => caller.call(call, replica) };
          await takeToken({ run, world, caller: to }, { elicitationId: connectionId, connectionId, subject }, random);
        }
    });
}

/** Returns whether every end was announced on every channel of its MCP server. */
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

/** Limits the concurrency. */
async function eachOf<T>(list: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...list];
  const worker = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
