import {
  FIRST_DELAY_MS,
  type FirstPasskey,
  isSameSubject,
  type NewPasskey,
  newOperationId,
  oldestFirst,
  type Passkey,
  type PasskeyAnnouncement,
  type PasskeyAnnouncements,
  type PasskeyChange,
  type PasskeyPayer,
  type PasskeyStore,
  type PasskeysCountFrom,
  QuotaExceededError,
  type Shard,
  type Subject,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { z } from 'zod';
import { decode, encode, shareText, subject, text, time, unreadable } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { fieldsOf, isAbsent, listOf, numberOf, textOf, unknownResult } from './script.ts';

const passkeySchema = z.object({
  passkeyId: text,
  subject,
  publicKey: text,
  signCount: z.int().nonnegative(),
  transports: z.array(text),
  backedUp: z.boolean(),
  label: text,
  createdAt: time,
  lastUsedAt: time.optional(),
}) satisfies z.ZodType<Passkey>;

/**
 * `<signCount> <backedUp> <createdAt> <lastUsedAt> <call> <record>`, as the scripts write it. `lastUsedAt` is 0 before the first
 * use.
 */
const STORED = /^(\d+) ([01]) (\d+) (\d+) \S+ (.*)$/s;

/** Encodes the members that no script reads. @internal */
export function encodePasskey({ subject, publicKey, transports, label }: NewPasskey): string {
  return encode({ subject, publicKey, transports, label });
}

/** @throws DomainError `unknown_record_layout` @internal */
export function decodePasskey(person: Subject, passkeyId: string, stored: string): Passkey {
  const [, signCount, backedUp, createdAt, lastUsedAt, json] = STORED.exec(stored) ?? [];
  if (json === undefined) throw unreadable();
  const passkey = decode(passkeySchema, json, record => ({
    ...record,
    passkeyId,
    signCount: Number(signCount),
    backedUp: backedUp === '1',
    createdAt: Number(createdAt),
    ...(lastUsedAt === '0' ? {} : { lastUsedAt: Number(lastUsedAt) }),
  }));
  // The key names the owner. No gateway writes a record with another owner.
  if (!isSameSubject(passkey.subject, person)) throw unreadable();
  return passkey;
}

/** Every writing call has a unique id, so a retry after a lost reply gets the result of the first. */
export class RedisPasskeyStore extends RedisPort implements PasskeyStore {
  async list(subject: Subject): Promise<readonly Passkey[]> {
    const found = fieldsOf(await this.link.call('hgetall', this.#keyOf(subject)));
    return found
      .map(([passkeyId, stored]) => decodePasskey(subject, passkeyId, textOf(stored)))
      .sort(oldestFirst(({ passkeyId: id, createdAt: at }) => ({ id, at })));
  }

  async add(
    passkey: NewPasskey,
    max: number,
    permittedBy?: string,
    first: FirstPasskey = 'counts',
    announcedAs?: string,
    payer?: PasskeyPayer,
  ): Promise<'added' | 'exists' | 'full' | 'not_permitted'> {
    const { subject, passkeyId, signCount, backedUp } = passkey;
    const paidBy = payer?.mcpServerId ?? (await this.#payerOf(subject));
    const reply = await this.repeatable('addPasskey', this.#changed(subject, paidBy), {
      passkeyId,
      record: encodePasskey(passkey),
      signCount: counter(signCount),
      isBackedUp: backedUp,
      call: newCall(),
      max,
      permittedBy,
      firstDelayMs: FIRST_DELAY_MS,
      first,
      announcement: announced(announcedAs),
      payer: paidBy,
      share: payer && shareText(payer.quota),
    });
    const [result, retryAfterMs] = listOf(reply);
    if (result === 'over_quota') throw new QuotaExceededError(paidBy ?? '', numberOf(retryAfterMs));
    return oneOf(reply, ['added', 'exists', 'full', 'not_permitted']);
  }

  async use(p: Parameters<PasskeyStore['use']>[0]): Promise<'used' | 'stale' | 'unknown'> {
    const reply = await this.repeatable(
      'usePasskey',
      { passkeys: this.#keyOf(p.subject) },
      { passkeyId: p.passkeyId, signCount: counter(p.signCount), isBackedUp: p.backedUp, call: newCall() },
    );
    return oneOf(reply, ['used', 'stale', 'unknown']);
  }

  async rename(subject: Subject, passkeyId: string, label: string): Promise<boolean> {
    const key = this.#keyOf(subject);
    for (;;) {
      const stored = await this.link.call('hget', key, passkeyId);
      if (isAbsent(stored)) return false;
      const before = decodePasskey(subject, passkeyId, textOf(stored));
      const [, , , , , json = ''] = STORED.exec(textOf(stored)) ?? [];
      const record = encodePasskey({ ...before, label });
      const reply = await this.repeatable('renamePasskey', { passkeys: key }, { passkeyId, knownRecord: json, record });
      const result = oneOf(reply, ['renamed', 'changed', 'unknown']);
      // `changed`: another request has renamed it since the read.
      if (result !== 'changed') return result === 'renamed';
    }
  }

  async remove(subject: Subject, passkeyId: string, announcedAs?: string): Promise<boolean> {
    const paidBy = await this.#payerOf(subject);
    const reply = await this.once('removePasskey', this.#changed(subject, paidBy), {
      passkeyId,
      announcement: announced(announcedAs),
      payer: paidBy,
    });
    return oneOf(reply, ['removed', 'unknown']) === 'removed';
  }

  async reset(subject: Subject, announcedAs?: string): Promise<number> {
    const paidBy = await this.#payerOf(subject);
    const reply = await this.repeatable('resetPasskeys', this.#changed(subject, paidBy), {
      call: newCall(),
      announcement: announced(announcedAs),
      payer: paidBy,
    });
    return Number(listOf(reply)[0]);
  }

  async countFrom(subject: Subject): Promise<PasskeysCountFrom | undefined> {
    const [at, limited] = await this.#facts(subject, 'from', 'limited');
    return at === undefined ? undefined : { at: Number(at), isLimited: limited === '1' };
  }

  async lastChange(subject: Subject): Promise<PasskeyChange | undefined> {
    const [since, at] = await this.#facts(subject, 'since', 'changed');
    return since === undefined || at === undefined ? undefined : { since: Number(since), at: Number(at) };
  }

  async #facts(subject: Subject, ...names: readonly string[]): Promise<readonly (string | undefined)[]> {
    const values = listOf(await this.link.call('hmget', this.#factsOf(subject), ...names));
    return values.map(value => (isAbsent(value) ? undefined : textOf(value)));
  }

  /** The MCP server whose quota counts the passkeys of this user. It never changes, because no other says who the user is. */
  async #payerOf(subject: Subject): Promise<string | undefined> {
    const [payer] = await this.#facts(subject, 'payer');
    return payer;
  }

  /** The keys of a script that adds or removes passkeys. */
  #changed(subject: Subject, paidBy: string | undefined) {
    const shard = shardOf(subject);
    return {
      passkeys: this.#keyOf(subject),
      facts: this.#factsOf(subject),
      announcements: this.keys.passkeyAnnouncements(shard),
      ledger: paidBy === undefined ? this.keys.none(shard) : this.keys.ledger(shard, paidBy),
    };
  }

  #factsOf(subject: Subject): string {
    return this.keys.passkeyFactsOf(shardOf(subject), subject);
  }

  #keyOf(subject: Subject): string {
    return this.keys.passkeysOf(shardOf(subject), subject);
  }
}

const newCall = () => newOperationId(systemEntropy);
/** Every announcement has a unique id. */
const announced = (pseudonym: string | undefined) =>
  pseudonym === undefined ? undefined : `${newCall()} ${pseudonym}`;

/** An unsigned number (WebAuthn 6.1). With a sign, the stored record would be unreadable. */
function counter(signCount: number): number {
  if (!Number.isSafeInteger(signCount) || signCount < 0) throw new TypeError('A signature counter is a whole number.');
  return signCount;
}

function oneOf<const T extends string>(reply: unknown, known: readonly T[]): T {
  const [result] = listOf(reply);
  const found = known.find(value => value === result);
  if (found === undefined) throw unknownResult();
  return found;
}

const ANNOUNCEMENT_PREFIX = 'pk_';
const announcementTypes = ['passkey.added', 'passkey.removed', 'passkey.reset'] as const;

/** Announcements of passkey changes, in the shard of the user. The commit of the change writes them. */
export class RedisPasskeyAnnouncements extends RedisPort implements PasskeyAnnouncements {
  async read(shard: Shard, limit: number): Promise<readonly PasskeyAnnouncement[]> {
    const key = this.keys.passkeyAnnouncements(shard);
    const found = listOf(await this.link.call('zrange', key, 0, limit - 1, 'WITHSCORES'));
    return found.flatMap((member, at) =>
      at % 2 === 0 ? [announcementIn(shard, textOf(member), numberOf(found[at + 1]))] : [],
    );
  }

  async remove({ eventId, pseudonym, type }: PasskeyAnnouncement): Promise<void> {
    const shard = eventId.slice(ANNOUNCEMENT_PREFIX.length, ANNOUNCEMENT_PREFIX.length + 2) as Shard;
    const id = eventId.slice(ANNOUNCEMENT_PREFIX.length + 3);
    await this.link.call('zrem', this.keys.passkeyAnnouncements(shard), `${id} ${pseudonym} ${type}`);
  }
}

function announcementIn(shard: Shard, member: string, occurredAt: number): PasskeyAnnouncement {
  const [id = '', pseudonym = '', what] = member.split(' ');
  const type = announcementTypes.find(known => known === what);
  if (type === undefined) throw new TypeError('Redis answered with something other than an announcement.');
  // A BullMQ job id must not contain a colon.
  return { eventId: `${ANNOUNCEMENT_PREFIX}${shard}.${id}`, type, pseudonym, occurredAt };
}
