import {
  type CountReader,
  countedSteps,
  type DecisionCount,
  HOUR_MS,
  kinds,
  type RefreshBatch,
  type RefreshCount,
  type RefreshCountStore,
  refreshOutcomes,
  type StepCount,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { type RedisLink, RedisPort } from './redis-link.ts';
import { fieldsOf, numberOf } from './script.ts';

/** Reads what `commands/carry-events.lua` counts. */
export class RedisCounts extends RedisPort implements CountReader {
  async size(mcpServerId: string, day: string): Promise<number> {
    return Number(await this.link.call('hlen', this.keys.counts(mcpServerId, day)));
  }

  async read(mcpServerId: string, day: string) {
    const start = Date.parse(`${day}T00:00:00Z`);
    const steps: StepCount[] = [];
    const decisions: DecisionCount[] = [];
    for (const [field, value] of fieldsOf(await this.link.call('hgetall', this.keys.counts(mcpServerId, day)))) {
      const [hour = '', step = '', kindName = '', rest = ''] = field.split(' ');
      const kind = kinds.find(known => known === kindName);
      // A newer release may count more.
      if (kind === undefined) continue;
      const counted = { at: start + Number(hour) * HOUR_MS, kind, count: numberOf(value) };
      const known = countedSteps.find(name => name === step);
      if (step === 'within') decisions.push({ ...counted, withinSeconds: Number(rest) });
      else if (known !== undefined) steps.push({ ...counted, step: known, provider: rest || undefined });
    }
    return { steps, decisions };
  }
}

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
