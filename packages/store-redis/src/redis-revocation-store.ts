import {
  type NewRevocation,
  parseRevocationId,
  REVOCATION_LIFETIME_MS,
  type Revocation,
  type RevocationId,
  type RevocationStore,
  type Shard,
  shardIn,
} from '@postern/elicitation';
import { z } from 'zod';
import { decode, elicitationId, encode, layoutNamedIn, subject, text, unreadable } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { listOf, numberOf, textOf } from './script.ts';

/** A revocation contains the whole record of its connection; only these members are read. */
const revocationSchema = z.object({
  owner: text,
  subject,
  provider: text,
  resource: text.optional(),
  account: z.object({ id: text, name: text.optional() }).optional(),
  elicitationId,
  sealedTokens: text,
});

/** Encodes what a removed connection would leave, without members that only a connection needs. */
function encodeRevocation(of: NewRevocation): string {
  const { owner, subject, provider, resource, account, elicitationId, sealedTokens } = of;
  const whose = { owner, subject, provider, resource, account };
  return encode({ ...whose, sealedTokens, elicitationId });
}

/** @throws DomainError `unknown_record_layout` */
function decodeRevocation(
  json: string,
  fields: { readonly revocationId: RevocationId; readonly createdAt: number; readonly attempts: number },
): Revocation {
  return { ...decode(revocationSchema, json), ...fields };
}

/**
 * A claim is not repeated after a lost reply, because the repeat would find the revocation claimed. The lease of the first claim
 * expires.
 */
export class RedisRevocationStore extends RedisPort implements RevocationStore {
  async add(revocation: NewRevocation): Promise<void> {
    const { revocationId, owner } = revocation;
    await this.repeatable(
      'addRevocation',
      { ...this.#keysOf(revocationId), ledger: this.keys.ledger(shardIn(revocationId), owner) },
      { revocationId, record: encodeRevocation(revocation), lifetimeMs: REVOCATION_LIFETIME_MS },
    );
  }

  async claim(shard: Shard, p: { readonly limit: number; readonly leaseMs: number }): Promise<readonly Revocation[]> {
    const dueRevocations = this.keys.dueRevocations(shard);
    const due = listOf(await this.once('dueRevocations', { dueRevocations }, { limit: p.limit }));
    const claims = await Promise.allSettled(due.map(id => this.#claim(idOf(id), p.leaseMs, 'due')));
    const claimed = claims.map(claim => (claim.status === 'fulfilled' ? claim.value : undefined));
    const revocations = claimed.filter(revocation => revocation !== undefined);
    // A record that cannot be read must not hold up the others. It becomes due again, and fails alone in the end.
    const failed = claims.find(claim => claim.status === 'rejected');
    if (revocations.length === 0 && failed !== undefined) throw failed.reason;
    return revocations;
  }

  claimOne(revocationId: RevocationId, leaseMs: number): Promise<Revocation | undefined> {
    return this.#claim(revocationId, leaseMs, 'any');
  }

  async finish({ revocationId, owner }: Pick<Revocation, 'revocationId' | 'owner'>): Promise<void> {
    await this.repeatable(
      'finishRevocation',
      { ...this.#keysOf(revocationId), ledger: this.keys.ledger(shardIn(revocationId), owner) },
      { revocationId },
    );
  }

  async postpone(revocationId: RevocationId, delayMs: number): Promise<void> {
    await this.repeatable('postponeRevocation', this.#keysOf(revocationId), { revocationId, delayMs });
  }

  async #claim(revocationId: RevocationId, leaseMs: number, which: 'due' | 'any'): Promise<Revocation | undefined> {
    const reply = await this.once('claimRevocation', this.#keysOf(revocationId), { revocationId, leaseMs, which });
    const [record, createdAt, attempts] = listOf(reply);
    if (record === undefined) return undefined;
    if (createdAt === undefined) throw unreadable(layoutNamedIn(textOf(record)));
    return decodeRevocation(textOf(record), {
      revocationId,
      createdAt: numberOf(createdAt),
      attempts: numberOf(attempts),
    });
  }

  #keysOf(revocationId: RevocationId) {
    return {
      revocation: this.keys.revocation(revocationId),
      dueRevocations: this.keys.dueRevocations(shardIn(revocationId)),
    };
  }
}

function idOf(value: unknown): RevocationId {
  const id = parseRevocationId(textOf(value));
  if (id === undefined) throw new TypeError('Redis answered with something other than a revocation id.');
  return id;
}
