import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCondition } from '../support/condition.ts';
import type { HeardEvent } from '../support/event-listener.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { type LastingListener, listenLastingly } from '../support/lasting-listener.ts';
import { askFor, createApi, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
/** The replica that relays events, and its successor. The replica of the world only serves requests. */
let relaying: GatewayProcess;
let next: GatewayProcess;
let running = new AsyncDisposableStack();

const limits = { requestsPerMinute: 1_000_000, elicitationsPerSubject: 1_000_000 };
const MCP_SERVERS = ['tracker', 'other'] as const;
type McpServerId = (typeof MCP_SERVERS)[number];

beforeAll(async () => {
  world = await startWorld({
    mcpServer: { limits },
    otherMcpServers: [{ id: 'other', limits }],
  });
  await world.gateways[0]?.relay.stop();
});
beforeEach(async () => {
  running = new AsyncDisposableStack();
  relaying = running.use(await startGatewayProcess(world.config));
  // The first relay already holds the lease when the second one starts.
  const listener = running.use(await startListening('tracker', [relaying.address]));
  await announce('tracker', listener);
  next = running.use(await startGatewayProcess(world.config));
});
afterEach(() => running.disposeAsync());
afterAll(() => world?.[Symbol.asyncDispose]());

const address = () => world.gateways[0]?.address ?? '';

interface Listening extends LastingListener {
  readonly heard: readonly HeardEvent[];
  /** Ids of the received events. */
  readonly ids: ReadonlySet<string>;
  until(holds: () => boolean): Promise<void>;
}

/** An MCP server that listens at one replica, and at the next one when that connection ends. */
async function startListening(mcpServerId: McpServerId, addresses: readonly string[]): Promise<Listening> {
  const heard: HeardEvent[] = [];
  const ids = new Set<string>();
  const changed = createCondition();
  let turn = 0;
  const listener = await listenLastingly({
    apiKey: keyOf(mcpServerId),
    nextAddress() {
      turn += 1;
      return addresses[(turn - 1) % addresses.length] ?? '';
    },
    onEvent(event) {
      heard.push(event);
      ids.add(event.data['eventId'] ?? '');
      changed.notify();
    },
  });
  return { ...listener, heard, ids, until: changed.until };
}

/** Issues and cancels one elicitation. @returns the ids of its events */
async function moveTwice(mcpServerId: McpServerId, at = address()): Promise<string[]> {
  const api = createApi(at, keyOf(mcpServerId));
  const { body } = await api.issue(askFor(world, 'alice', { authorization: { provider: 'forge' } }));
  await api.cancel(body.elicitationId);
  return [1, 2].map(version => `ev_${body.elicitationId.slice(3)}.${version}`);
}

async function announce(mcpServerId: McpServerId, listener: Listening): Promise<void> {
  const ids = await moveTwice(mcpServerId);
  await listener.until(() => ids.every(id => listener.ids.has(id)));
}

/** Number of occurrences of each event in the feed of an MCP server. */
async function timesIn(mcpServerId: McpServerId, ids: readonly string[]): Promise<readonly number[]> {
  const page = await world.gateways[0]?.deps.stores.feeds.read(mcpServerId, { after: undefined, limit: 5_000 });
  const all = page?.result === 'events' ? page.events.map(({ eventId }) => eventId) : [];
  return ids.map(id => all.filter(each => each === id).length);
}

const inOrder = (heard: readonly HeardEvent[]) => {
  const versions = Map.groupBy(heard, ({ data }) => data['elicitationId']);
  return [...versions.values()].every(own => {
    const order = own.map(({ data }) => Number(data['eventId']?.split('.')[1]));
    return order.every((version, at) => at === 0 || version > (order[at - 1] ?? 0));
  });
};

describe('events over three replicas', () => {
  it('N9: two MCP servers that reconnect to random replicas, some of which are killed, each get their events once and in order', async () => {
    const replicas = [address(), relaying.address, next.address];
    const listeners = {
      tracker: running.use(await startListening('tracker', replicas)),
      other: running.use(await startListening('other', replicas.toReversed())),
    };
    const expected: Record<McpServerId, string[]> = { tracker: [], other: [] };
    for (let n = 0; n < 40; n += 1) {
      for (const id of MCP_SERVERS) expected[id].push(...(await moveTwice(id)));
      if (n % 5 === 4) for (const id of MCP_SERVERS) listeners[id].drop();
      if (n === 20) await relaying.kill();
    }
    for (const id of MCP_SERVERS) {
      const { heard, ids, until } = listeners[id];
      await until(() => expected[id].every(each => ids.has(each)));
      const own = heard.filter(({ data }) => expected[id].includes(data['eventId'] ?? ''));
      expect(own).toHaveLength(expected[id].length);
      expect(inOrder(own)).toBe(true);
      const foreign = id === 'tracker' ? expected.other : expected.tracker;
      expect(foreign.filter(each => ids.has(each))).toEqual([]);
      expect(await timesIn(id, expected[id])).toEqual(expected[id].map(() => 1));
    }
  });

  it('P7: an event of a replica killed before the relay is delivered by another replica or after a restart', async () => {
    const listener = running.use(await startListening('tracker', [address()]));
    relaying.suspend();
    const ids = await moveTwice('tracker');
    await relaying.kill();
    await listener.until(() => ids.every(id => listener.ids.has(id)));
    expect(await timesIn('tracker', ids)).toEqual([1, 1]);

    await next.kill();
    const left = await moveTwice('tracker');
    expect(await timesIn('tracker', left)).toEqual([0, 0]);
    await next.restart();
    await listener.until(() => left.every(id => listener.ids.has(id)));
    expect(await timesIn('tracker', left)).toEqual([1, 1]);
  });

  it('a replica that was frozen during a takeover adds no duplicates', async () => {
    const listener = running.use(await startListening('tracker', [address()]));
    relaying.suspend();
    const ids = await moveTwice('tracker');
    await listener.until(() => ids.every(id => listener.ids.has(id)));
    relaying.resume();
    for (let n = 0; n < 10; n += 1) ids.push(...(await moveTwice('tracker')));
    await listener.until(() => ids.every(id => listener.ids.has(id)));
    expect(await timesIn('tracker', ids)).toEqual(ids.map(() => 1));
    expect(inOrder(listener.heard)).toBe(true);
  });
});
