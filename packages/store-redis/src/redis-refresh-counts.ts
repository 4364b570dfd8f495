import {
  HOUR_MS,
  type RefreshBatch,
  type RefreshCount,
  type RefreshCountStore,
  refreshOutcomes,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { RedisPort } from './redis-port.ts';
import { fieldsOf, numberOf } from './reply.ts';

/** One hash per provider and day. */
export class RedisRefreshCounts extends RedisPort implements RefreshCountStore {
  readonly #retentionMs: number;

  constructor(link: RedisLink, keys: Keys, options: { readonly retentionMs: number }) {
    super(link, keys);
    this.#retentionMs = options.retentionMs;
  }

  async add(writer: string, { provider, day, operationId, counts }: RefreshBatch): Promise<void> {
    await this.repeatable(
      'countRefreshes',
      { refreshes: this.keys.refreshes(provider, day) },
      {
        writer,
        operationId,
        retentionMs: this.#retentionMs,
        counts: counts.map(({ at, outcome, code, count }) => {
          const hour = String(new Date(at).getUTCHours()).padStart(2, '0');
          return { field: [hour, outcome, code].filter(part => part !== undefined).join(' '), count };
        }),
      },
    );
  }

  async read(provider: string, day: string): Promise<readonly RefreshCount[]> {
    const start = Date.parse(`${day}T00:00:00Z`);
    return fieldsOf(await this.link.call('hgetall', this.keys.refreshes(provider, day))).flatMap(([field, value]) => {
      const [hour = '', outcomeName, code] = field.split(' ');
      const outcome = refreshOutcomes.find(known => known === outcomeName);
      // The last batches of writers, and what a newer release counts.
      if (outcome === undefined) return [];
      return { at: start + Number(hour) * HOUR_MS, outcome, code, count: numberOf(value) };
    });
  }
}
