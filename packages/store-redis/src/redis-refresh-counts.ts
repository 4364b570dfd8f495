import { definedOnly } from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { dayOf } from './redis-counts.ts';
import type { RedisLink } from './redis-link.ts';
import { fieldsOf, numberOf } from './reply.ts';

/** `postponed`: failed, and tried again. `lost`: the provider refused, so the user must connect again. */
export const refreshOutcomes = ['refreshed', 'postponed', 'lost'] as const;
export type RefreshOutcome = (typeof refreshOutcomes)[number];

/** How many refreshes at a provider ended like this within an hour, on all replicas. */
export interface RefreshCount {
  /** Start of the hour, epoch milliseconds. */
  readonly at: number;
  readonly outcome: RefreshOutcome;
  /** Why it failed. */
  readonly code?: string;
  readonly count: number;
}

/** Refreshes at one provider on one day that a process has not counted yet. */
export interface RefreshBatch {
  readonly provider: string;
  /** UTC, `2026-11-23` */
  readonly day: string;
  /** Names the batch when it is sent again. */
  readonly operationId: string;
  readonly counts: readonly RefreshCount[];
}

const HOUR_MS = 3_600_000;

/** Counts of refreshes, by provider and day. All methods throw StoreUnavailableError. */
export class RedisRefreshCounts {
  readonly #link: RedisLink;
  readonly #keys: Keys;
  readonly #retentionMs: number;

  constructor(link: RedisLink, keys: Keys, options: { readonly retentionMs: number }) {
    this.#link = link;
    this.#keys = keys;
    this.#retentionMs = options.retentionMs;
  }

  /** @param writer one process, which sends a batch of a provider and day again until it is counted, before it sends the next */
  async add(writer: string, { provider, day, operationId, counts }: RefreshBatch): Promise<void> {
    const values = counts.flatMap(({ at, outcome, code, count }) => {
      const hour = String(new Date(at).getUTCHours()).padStart(2, '0');
      return [[hour, outcome, code].filter(part => part !== undefined).join(' '), count];
    });
    await this.#link.run(
      'countRefreshes',
      [this.#keys.refreshes(provider, day)],
      [writer, operationId, this.#retentionMs, ...values],
      { repeatable: true },
    );
  }

  async read(provider: string, day: string): Promise<readonly RefreshCount[]> {
    const start = Date.parse(`${day}T00:00:00Z`);
    return fieldsOf(await this.#link.call('hgetall', this.#keys.refreshes(provider, day))).flatMap(([field, value]) => {
      const [hour = '', outcomeName, code] = field.split(' ');
      const outcome = refreshOutcomes.find(known => known === outcomeName);
      // The last batches of writers, and what a newer release counts.
      if (outcome === undefined) return [];
      return { at: start + Number(hour) * HOUR_MS, outcome, ...definedOnly({ code }), count: numberOf(value) };
    });
  }
}

/** Returns the hour of a time and its UTC day, by which refreshes are counted. */
export const hourOf = (at: number): { readonly at: number; readonly day: string } => ({
  at: at - (at % HOUR_MS),
  day: dayOf(at),
});
