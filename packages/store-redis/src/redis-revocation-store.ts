import {
  type NewRevocation,
  parseRevocationId,
  type Revocation,
  type RevocationId,
  type RevocationStore,
  type Shard,
  shardIn,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { layoutNamedIn, unreadable } from './records/record-layout.ts';
import { decodeRevocation, encodeRevocation } from './records/revocation-record.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, numberOf, textOf } from './reply.ts';

/**
 * How long a revocation is kept that nobody finishes. Whoever works on them gives up earlier; this is the backstop, because
 * tokens lie in there, and nobody can use them any more.
 */
export const REVOCATION_LIFETIME_MS = 8 * 24 * 3_600_000;

/**
 * Claiming is not repeated after a lost answer: the second would find it claimed. The lease of the first ends by itself.
 */
export class RedisRevocationStore implements RevocationStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async add(revocation: NewRevocation): Promise<void> {
    const { revocationId } = revocation;
    await this.#link.run(
      'addRevocation',
      this.#keysOf(revocationId),
      [this.#link.clock(), revocationId, encodeRevocation(revocation), REVOCATION_LIFETIME_MS],
      { repeatable: true },
    );
  }

  async claim(shard: Shard, p: { readonly limit: number; readonly leaseMs: number }): Promise<readonly Revocation[]> {
    const index = this.#keys.dueRevocations(shard);
    const due = listOf(await this.#link.run('dueRevocations', [index], [this.#link.clock(), p.limit]));
    const claims = await Promise.allSettled(due.map(id => this.#claim(idOf(id), p.leaseMs, 'due')));
    const claimed = claims.map(claim => (claim.status === 'fulfilled' ? claim.value : undefined));
    const revocations = claimed.filter(revocation => revocation !== undefined);
    // One that cannot be read must not keep the others from being worked on: it comes up again, and in the end alone.
    const failed = claims.find(claim => claim.status === 'rejected');
    if (revocations.length === 0 && failed !== undefined) throw failed.reason;
    return revocations;
  }

  claimOne(revocationId: RevocationId, leaseMs: number): Promise<Revocation | undefined> {
    return this.#claim(revocationId, leaseMs, 'any');
  }

  async finish(revocationId: RevocationId): Promise<void> {
    await this.#link.run('finishRevocation', this.#keysOf(revocationId), [revocationId], { repeatable: true });
  }

  async postpone(revocationId: RevocationId, delayMs: number): Promise<void> {
    await this.#link.run(
      'postponeRevocation',
      this.#keysOf(revocationId),
      [this.#link.clock(), revocationId, delayMs],
      { repeatable: true },
    );
  }

  async #claim(revocationId: RevocationId, leaseMs: number, which: 'due' | 'any'): Promise<Revocation | undefined> {
    const reply = await this.#link.run('claimRevocation', this.#keysOf(revocationId), [
      this.#link.clock(),
      revocationId,
      leaseMs,
      which,
    ]);
    const [record, createdAt, attempts] = listOf(reply);
    if (record === undefined) return undefined;
    if (createdAt === undefined) throw unreadable(layoutNamedIn(textOf(record)));
    return decodeRevocation(textOf(record), {
      revocationId,
      createdAt: numberOf(createdAt),
      attempts: numberOf(attempts),
    });
  }

  #keysOf(revocationId: RevocationId): readonly [string, string] {
    return [this.#keys.revocation(revocationId), this.#keys.dueRevocations(shardIn(revocationId))];
  }
}

function idOf(value: unknown): RevocationId {
  const id = parseRevocationId(textOf(value));
  if (id === undefined) throw new TypeError('Redis answered with something other than a revocation id.');
  return id;
}
