import { IDEMPOTENCY_RETENTION_MS, type IdempotencyStore } from '@postern/elicitation';
import { shareText } from './create-elicitation.ts';
import { RedisPort } from './redis-port.ts';
import { listOf, numberOf } from './reply.ts';

export class RedisIdempotencyStore extends RedisPort implements IdempotencyStore {
  async put(p: Parameters<IdempotencyStore['put']>[0]): ReturnType<IdempotencyStore['put']> {
    const reply = await this.repeatable(
      'putIdempotency',
      [this.keys.idempotency(p.shard, p.digest), this.keys.ledger(p.shard, p.mcpServerId)],
      [p.fingerprint, p.response, IDEMPOTENCY_RETENTION_MS, shareText(p.quota)],
    );
    const [result, retryAfterMs] = listOf(reply);
    if (result === 'over_quota') return { result, retryAfterMs: numberOf(retryAfterMs) };
    return { result: result === 'stored' ? 'stored' : 'exists' };
  }
}
