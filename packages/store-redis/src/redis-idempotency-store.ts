import { IDEMPOTENCY_RETENTION_MS, type IdempotencyStore } from '@postern/elicitation';
import { shareText } from './create-elicitation.ts';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, numberOf } from './reply.ts';

export class RedisIdempotencyStore implements IdempotencyStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async put(p: Parameters<IdempotencyStore['put']>[0]): ReturnType<IdempotencyStore['put']> {
    const reply = await this.#link.run(
      'putIdempotency',
      [this.#keys.idempotency(p.shard, p.digest), this.#keys.ledger(p.shard, p.mcpServerId)],
      [this.#link.clock(), p.fingerprint, p.response, IDEMPOTENCY_RETENTION_MS, shareText(p.quota)],
      { repeatable: true },
    );
    const [result, retryAfterMs] = listOf(reply);
    if (result === 'over_quota') return { result, retryAfterMs: numberOf(retryAfterMs) };
    return { result: result === 'stored' ? 'stored' : 'exists' };
  }
}
