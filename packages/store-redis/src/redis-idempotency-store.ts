import type { IdempotencyBegin, IdempotencyStore, StorageQuota } from '@postern/elicitation';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, numberOf, textOf } from './reply.ts';
import { shareText } from './share-text.ts';

/** How long a reservation without an answer is remembered, and the least an answer is kept. */
const RETENTION_MS = 24 * 3_600_000;

export class RedisIdempotencyStore implements IdempotencyStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async begin(p: {
    readonly mcpServerId: string;
    readonly digest: string;
    readonly fingerprint: string;
    readonly reservation: string;
    readonly leaseMs: number;
    readonly quota: StorageQuota;
  }): Promise<IdempotencyBegin> {
    const reply = await this.#link.run(
      'beginIdempotency',
      this.#keysOf(p),
      [this.#link.clock(), p.fingerprint, p.reservation, p.leaseMs, RETENTION_MS, shareText(p.quota)],
      { repeatable: true },
    );
    const [result, value] = listOf(reply);
    switch (result) {
      case 'begun':
        return { result, reservation: textOf(value) };
      case 'replay':
        return { result, response: textOf(value) };
      case 'in_flight':
      case 'over_quota':
        return { result, retryAfterMs: numberOf(value) };
      default:
        return { result: 'mismatch' };
    }
  }

  async finish(p: {
    readonly mcpServerId: string;
    readonly digest: string;
    readonly fingerprint: string;
    readonly response: string;
    readonly retentionMs: number;
  }): Promise<void> {
    await this.#link.run(
      'finishIdempotency',
      this.#keysOf(p),
      [this.#link.clock(), p.fingerprint, p.response, Math.max(p.retentionMs, RETENTION_MS)],
      { repeatable: true },
    );
  }

  async abandon(p: {
    readonly mcpServerId: string;
    readonly digest: string;
    readonly fingerprint: string;
  }): Promise<void> {
    await this.#link.run('abandonIdempotency', this.#keysOf(p), [this.#link.clock(), p.fingerprint], {
      repeatable: true,
    });
  }

  #keysOf({ digest, mcpServerId }: { readonly digest: string; readonly mcpServerId: string }): readonly string[] {
    return [this.#keys.idempotency(digest), this.#keys.idempotencyLedger(digest, mcpServerId)];
  }
}
