import type { ConsumeResult, OneTimeRecord, OneTimeStore, Shard, UsedKind } from '@postern/elicitation';
import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, elicitationId, encode, layoutNamedIn, text, unreadable } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './reply.ts';

const oneTimeSchema = z.object({
  elicitationId,
  mcpServerId: text,
  provider: text.exactOptional(),
  browserBinding: text.exactOptional(),
});

export function encodeOneTime(record: OneTimeRecord): string {
  const { elicitationId, mcpServerId, provider, browserBinding } = record;
  return encode({ elicitationId, mcpServerId, provider, browserBinding });
}

/** @throws DomainError `unknown_record_layout` */
function decodeOneTime(json: string, digest: string): Omit<OneTimeRecord, 'sealed'> {
  return { digest, ...decode(oneTimeSchema, json) };
}

/** Minimum time for which a taken record is remembered. */
const SPENT_MS = 10 * 60_000;
/** Maximum number of used values of one kind that a shard remembers, about 130 bytes each. */
const MAX_USED = 512;
/** Characters of the digest that name a value: 132 bits. */
const NAME_LENGTH = 22;
/** Maximum difference between the clocks of replicas and of Redis, in milliseconds. */
const GRACE_MS = 60_000;

/**
 * A take is never repeated after a lost reply, because the second take could not tell whether the first was its own. The record
 * is lost then, and the caller gets StoreUnavailableError.
 */
export class RedisOneTimeStore implements OneTimeStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async read(shard: Shard, digest: string): Promise<OneTimeRecord | undefined> {
    const reply = await this.#link.run('readOneTime', [this.#keys.oneTime(shard, digest)], [this.#link.clock()], {
      repeatable: true,
    });
    const [record, sealed] = listOf(reply);
    return record === undefined ? undefined : { ...decodeOneTime(textOf(record), digest), sealed: textOf(sealed) };
  }

  async consume(shard: Shard, digest: string): Promise<ConsumeResult> {
    const key = this.#keys.oneTime(shard, digest);
    const reply = await this.#link.run('consumeOneTime', [key], [this.#link.clock(), SPENT_MS]);
    const [result, record, sealed] = listOf(reply);
    if (result === 'unknown') return { result };
    if (result === 'unreadable') throw unreadable(layoutNamedIn(textOf(record)));
    const known = decodeOneTime(textOf(record), digest);
    return result === 'taken'
      ? { result, record: { ...known, sealed: textOf(sealed) } }
      : { result: 'spent', record: known };
  }

  async claim(digest: string, ttlMs: number): Promise<boolean> {
    const key = this.#keys.claim(digest);
    return (await this.#link.callFor('claimOneTime', 'set', key, '', 'PX', ttlMs, 'NX')) === 'OK';
  }

  async spend(p: { readonly kind: UsedKind; readonly digest: string; readonly expiresAt: number }): Promise<boolean> {
    const key = this.#keys.used(p.kind, p.digest);
    const values = [this.#link.clock(), p.digest.slice(0, NAME_LENGTH), p.expiresAt, MAX_USED, GRACE_MS];
    return listOf(await this.#link.run('spendOneTime', [key], values))[0] === 'taken';
  }
}
