import { countedSteps, dayOf, SHARDS, type Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { RetryingDelivery } from '../events/webhooks/delivery-queue.ts';
import type { WebhookQueues } from '../events/webhooks/webhook-queues.ts';
import { typeOf } from '../events/webhooks/webhook-request.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { packageVersion } from '../platform/package-version.ts';
import { type Network, offered } from '../platform/store/network.ts';
import type { AdminProcess } from './admin-audit.ts';
import { createKeyReport } from './key-report.ts';
import { createSharedReads, fewAtOnce, giveWay } from './paced-reads.ts';
import { createStorageReport } from './storage-report.ts';

export interface CountsQuery {
  readonly since: Date;
  readonly until: Date;
  readonly by: 'hour' | 'day';
}

export interface OverviewDeps {
  readonly config: GatewayConfig;
  readonly stores: Stores;
  readonly network: Network | undefined;
  readonly vault: Vault;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly queues: () => Promise<WebhookQueues['all']>;
  readonly pausedMs: AdminProcess['pausedMs'];
  readonly now: () => number;
}

const DAY_MS = 24 * 3_600_000;
/** Days of which the number of counts is asked at once: most have none, and some have thousands. */
const DAYS_SIZED_AT_ONCE = 100;
/** Counts that are read at once, unless one day has more: they take about a millisecond. */
const COUNTS_AT_ONCE = 1_000;
/** Age of reports that read the ledgers of all shards, or all API keys. */
const REPORT_KEPT_MS = 30_000;

/** The days (UTC) that a period touches. */
function daysIn({ since, until }: CountsQuery): readonly string[] {
  const days: string[] = [];
  for (let at = Date.parse(dayOf(since.getTime())); at < until.getTime(); at += DAY_MS) days.push(dayOf(at));
  return days;
}

/** Adds up counts with the same start and name. Leaves out what has no start. */
function summed<Row extends { readonly at: number; readonly count: number }>(
  rows: readonly Row[],
  startOf: (at: number) => number | undefined,
  nameOf: (row: Row) => string,
): Row[] {
  const sums = new Map<string, { row: Row; at: number; count: number }>();
  for (const row of rows) {
    const at = startOf(row.at);
    if (at === undefined) continue;
    const key = `${at} ${nameOf(row)}`;
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { row, at, count: row.count });
    else known.count += row.count;
  }
  return Array.from(sums.values(), ({ row, ...sum }) => ({ ...row, ...sum }));
}

/** Splits items so that the sizes of a part add up to `atOnce` at most, or it has one item. */
function partsOf<Item extends { readonly size: number }>(items: readonly Item[], atOnce: number): Item[][] {
  const parts: Item[][] = [];
  let left = 0;
  for (const item of items) {
    left -= item.size;
    if (left < 0 || parts.length === 0) {
      parts.push([]);
      left = atOnce - item.size;
    }
    parts.at(-1)?.push(item);
  }
  return parts;
}

/** An undelivered webhook. The reason of a response names its status. */
function deliveryItem({ endpoint, event, attempts, reason = '' }: Omit<RetryingDelivery, 'nextAt'>) {
  const [, httpStatus] = /^status_(\d{3})$/.exec(reason) ?? [];
  return {
    endpoint,
    eventId: event.eventId,
    type: typeOf(event),
    attempts,
    ...(httpStatus === undefined ? {} : { httpStatus: Number(httpStatus) }),
    ...('elicitationId' in event ? { elicitationId: event.elicitationId, mcpServerId: event.mcpServerId } : {}),
  };
}

/** Sizes of lists that are read at once. */
const SIZES_AT_ONCE = 16;
const LISTS = ['open', 'ended', 'connections', 'credentials', 'revocations'] as const;

/** Numbers without persons: counts, health, webhooks. */
export function createOverview(deps: OverviewDeps) {
  const { config, stores, network, mcpServers, queues, pausedMs } = deps;
  const providers = config.providers.map(({ name }) => name);
  const shared = createSharedReads(REPORT_KEPT_MS);
  const storage = createStorageReport(deps);
  const keys = createKeyReport(deps);

  async function recordCounts() {
    const counts = { open: 0, ended: 0, connections: 0, credentials: 0, revocations: 0 };
    const places = SHARDS.flatMap(shard => LISTS.map(list => ({ list, shard })));
    await fewAtOnce(
      places,
      async ({ list, shard }) => {
        const size = await stores.lists.size(list, shard);
        counts[list] += size;
      },
      SIZES_AT_ONCE,
    );
    return counts;
  }

  async function webhookEndpoints() {
    return Promise.all(
      (await queues()).map(async ({ endpoint, queue }) => {
        const [{ disabled, failingSince }, counts] = await Promise.all([
          offered(network).webhookEndpoints.read(endpoint.name),
          queue.counts(),
        ]);
        return {
          endpoint: endpoint.name,
          // The host only: the path may contain a secret.
          host: new URL(endpoint.url).host,
          status: disabled === undefined ? ('enabled' as const) : ('disabled' as const),
          reason: disabled?.reason,
          disabledAt: disabled && new Date(disabled.at).toISOString(),
          failingSince: failingSince === undefined ? undefined : new Date(failingSince).toISOString(),
          ...counts,
        };
      }),
    );
  }

  /** As this replica sees them. */
  function providerHealth() {
    return providers.map(provider => ({
      provider,
      /** While positive, this replica sends the provider no requests, after repeated timeouts. */
      pausedMs: pausedMs(provider),
    }));
  }

  return {
    webhookEndpoints,

    /** Newest first, of one endpoint or of each. */
    async deadDeliveries({ endpoint, limit }: { readonly endpoint?: string; readonly limit: number }) {
      const wanted = (await queues()).filter(each => endpoint === undefined || each.endpoint.name === endpoint);
      const dead = await Promise.all(wanted.map(({ queue }) => queue.dead({ start: 0, limit })));
      return dead
        .flat()
        .sort((a, b) => b.failedAt - a.failedAt)
        .slice(0, limit)
        .map(({ failedAt, reason, ...delivery }) => ({
          ...deliveryItem({ ...delivery, reason }),
          reason,
          failedAt: new Date(failedAt).toISOString(),
        }));
    },

    /** The soonest next attempt first, of one endpoint or of each. */
    async retryingDeliveries({ endpoint, limit }: { readonly endpoint?: string; readonly limit: number }) {
      const wanted = (await queues()).filter(each => endpoint === undefined || each.endpoint.name === endpoint);
      const retrying = await Promise.all(wanted.map(({ queue }) => queue.retrying({ limit })));
      return retrying
        .flat()
        .sort((a, b) => a.nextAt - b.nextAt)
        .slice(0, limit)
        .map(({ nextAt, ...delivery }) => ({
          ...deliveryItem(delivery),
          reason: delivery.reason,
          nextAt: new Date(nextAt).toISOString(),
        }));
    },

    /** The configured MCP servers and providers only. A removed one keeps its counts, and shows them again once it is configured again. */
    async counts(q: CountsQuery) {
      const [since, until, days] = [q.since.getTime(), q.until.getTime(), daysIn(q)];
      const startOf = (at: number) =>
        at < since || at >= until ? undefined : q.by === 'day' ? at - (at % DAY_MS) : at;
      const iso = <Row extends { readonly at: number }>({ at, ...row }: Row) => ({
        at: new Date(at).toISOString(),
        ...row,
      });
      const read = async (mcpServerId: string, day: string) => {
        const { steps, decisions } = await stores.counts.read(mcpServerId, day);
        const ofServer = <Row extends { readonly at: number }>(row: Row) => ({ mcpServerId, ...iso(row) });
        return {
          steps: summed(steps, startOf, ({ kind, step, provider }) => `${kind} ${step} ${provider}`).map(ofServer),
          decisions: summed(decisions, startOf, ({ kind, withinSeconds }) => `${kind} ${withinSeconds}`).map(ofServer),
        };
      };
      const found: Awaited<ReturnType<typeof read>>[] = [];
      // One MCP server after another, in parts of its days: each part gives way to the requests of users and MCP servers.
      for (const mcpServerId of mcpServers.keys()) {
        const sized = await fewAtOnce(
          days,
          async day => ({ day, size: await stores.counts.size(mcpServerId, day) }),
          DAYS_SIZED_AT_ONCE,
        );
        for (const part of partsOf(
          sized.filter(({ size }) => size > 0),
          COUNTS_AT_ONCE,
        )) {
          found.push(...(await Promise.all(part.map(({ day }) => read(mcpServerId, day)))));
          await giveWay();
        }
      }
      const byTime = (a: { readonly at: string }, b: { readonly at: string }) =>
        a.at < b.at ? -1 : a.at > b.at ? 1 : 0;
      const refreshesOf = async (provider: string, day: string) =>
        summed(
          await stores.refreshCounts.read(provider, day),
          startOf,
          ({ outcome, code }) => `${outcome} ${code}`,
        ).map(row => ({ provider, ...iso(row) }));
      const refreshes: Awaited<ReturnType<typeof refreshesOf>>[] = [];
      for (const provider of providers)
        refreshes.push(...(await fewAtOnce(days, day => refreshesOf(provider, day), 1)));
      return {
        by: q.by,
        order: countedSteps,
        steps: found.flatMap(({ steps }) => steps).sort(byTime),
        decisions: found.flatMap(({ decisions }) => decisions).sort(byTime),
        refreshes: refreshes.flat().sort(byTime),
      };
    },

    /** Oldest first. */
    async replicas() {
      return (await stores.replicas.list()).map(({ startedAt, ...replica }) => ({
        ...replica,
        startedAt: new Date(startedAt).toISOString(),
      }));
    },

    async health() {
      const isReachable = await stores.ping().then(
        () => true,
        () => false,
      );
      if (!isReachable) return { version: packageVersion, redis: { isReachable, refusals: [] } };
      const [records, webhooks, storageUse, { vaultKeys, receiptKeys, apiKeys }] = await Promise.all([
        recordCounts(),
        webhookEndpoints(),
        shared('storage', storage),
        shared('keys', keys),
      ]);
      return {
        version: packageVersion,
        redis: { isReachable, refusals: stores.refusals() },
        records,
        webhooks,
        providers: providerHealth(),
        storage: storageUse,
        vaultKeys,
        receiptKeys,
        apiKeys,
      };
    },
  };
}

export type WebhookEndpointItem = Awaited<ReturnType<ReturnType<typeof createOverview>['webhookEndpoints']>>[number];
