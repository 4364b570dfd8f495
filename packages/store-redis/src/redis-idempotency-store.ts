import { IDEMPOTENCY_RETENTION_MS, type IdempotencyStore } from '@postern/elicitation';
import { shareText } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { listOf, numberOf } from './script.ts';

export class RedisIdempotencyStore extends RedisPort implements IdempotencyStore {
  async put(p: Parameters<IdempotencyStore['put']>[0]): ReturnType<IdempotencyStore['put']> {
    const reply = await this.repeatable(
      'putIdempotency',
      {
        idempotency: this.keys.idempotency(p.shard, p.digest),
        ledger: this.keys.ledger(p.shard, p.mcpServerId),
      },
      {
        fingerprint: p.fingerprint,
        response: p.response,
        retentionMs: IDEMPOTENCY_RETENTION_MS,
        share: shareText(p.quota),
      },
    );
    const [result, retryAfterMs] = listOf(reply);
    if (result === 'over_quota') return { result, retryAfterMs: numberOf(retryAfterMs) };
    return { result: result === 'stored' ? 'stored' : 'exists' };
  }
}
