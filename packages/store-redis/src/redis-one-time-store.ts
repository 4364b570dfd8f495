import {
  type ConsumeResult,
  MAX_USED_VALUES,
  type OneTimeRecord,
  type OneTimeStore,
  type Shard,
  SPENT_MS,
} from '@postern/elicitation';
import { z } from 'zod';
import { decode, elicitationId, encode, layoutNamedIn, text, unreadable } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { listOf, textOf } from './script.ts';

const oneTimeSchema = z.object({
  elicitationId,
  mcpServerId: text,
  provider: text.optional(),
  browserBinding: text.optional(),
});

export function encodeOneTime(record: OneTimeRecord): string {
  const { elicitationId, mcpServerId, provider, browserBinding } = record;
  return encode({ elicitationId, mcpServerId, provider, browserBinding });
}

/** @throws DomainError `unknown_record_layout` */
function decodeOneTime(json: string, digest: string): Omit<OneTimeRecord, 'sealed'> {
  return { digest, ...decode(oneTimeSchema, json) };
}

/** Characters of the digest that name a value: 132 bits. */
const NAME_LENGTH = 22;
/** Maximum difference between the clocks of replicas and of Redis, in milliseconds. */
const GRACE_MS = 60_000;

/**
 * A take is never repeated after a lost reply, because the second take could not tell whether the first was its own. The record
 * is lost then, and the caller gets StoreUnavailableError.
 */
export class RedisOneTimeStore extends RedisPort implements OneTimeStore {
  async read(shard: Shard, digest: string): Promise<OneTimeRecord | undefined> {
    const reply = await this.repeatable('readOneTime', { oneTime: this.keys.oneTime(shard, digest) }, {});
    const [record, sealed] = listOf(reply);
    return record === undefined ? undefined : { ...decodeOneTime(textOf(record), digest), sealed: textOf(sealed) };
  }

  async consume(shard: Shard, digest: string): Promise<ConsumeResult> {
    const oneTime = this.keys.oneTime(shard, digest);
    const reply = await this.once('consumeOneTime', { oneTime }, { spentMs: SPENT_MS });
    const [result, record, sealed] = listOf(reply);
    if (result === 'unknown') return { result };
    if (result === 'unreadable') throw unreadable(layoutNamedIn(textOf(record)));
    const known = decodeOneTime(textOf(record), digest);
    return result === 'taken'
      ? { result, record: { ...known, sealed: textOf(sealed) } }
      : { result: 'spent', record: known };
  }

  async claim(digest: string, ttlMs: number): Promise<boolean> {
    const key = this.keys.claim(digest);
    return (await this.link.callFor('claimOneTime', 'set', key, '', 'PX', ttlMs, 'NX')) === 'OK';
  }

  async spend(p: Parameters<OneTimeStore['spend']>[0]): Promise<boolean> {
    const reply = await this.once(
      'spendOneTime',
      { used: this.keys.used(p.kind, p.digest) },
      {
        name: p.digest.slice(0, NAME_LENGTH),
        expiresAt: p.expiresAt,
        max: MAX_USED_VALUES,
        graceMs: GRACE_MS,
      },
    );
    return listOf(reply)[0] === 'taken';
  }
}
