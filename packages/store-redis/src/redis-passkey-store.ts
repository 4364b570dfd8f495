import {
  FIRST_DELAY_MS,
  type FirstPasskey,
  type NewPasskey,
  newOperationId,
  type Passkey,
  type PasskeyChange,
  type PasskeyStore,
  type PasskeysCountFrom,
  type Subject,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { decodePasskey, encodePasskey } from './records/passkey-record.ts';
import type { RedisLink } from './redis-link.ts';
import { fieldsOf, isAbsent, listOf, textOf } from './reply.ts';

/** Every call that writes has a name of its own, so that after a lost answer its repeat is told what the first was. */
export class RedisPasskeyStore implements PasskeyStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async list(subject: Subject): Promise<readonly Passkey[]> {
    const found = fieldsOf(await this.#link.call('hgetall', this.#keyOf(subject)));
    return found
      .map(([passkeyId, stored]) => decodePasskey(subject, passkeyId, textOf(stored)))
      .sort((a, b) => a.createdAt - b.createdAt || (a.passkeyId < b.passkeyId ? -1 : 1));
  }

  async add(
    passkey: NewPasskey,
    max: number,
    permittedBy = '',
    first: FirstPasskey = 'counts',
  ): Promise<'added' | 'exists' | 'full' | 'not_permitted'> {
    const { subject, passkeyId, signCount, backedUp } = passkey;
    const reply = await this.#link.run(
      'addPasskey',
      [this.#keyOf(subject), this.#factsOf(subject)],
      [
        ...[this.#link.clock(), passkeyId, encodePasskey(passkey), counter(signCount), flag(backedUp), newCall(), max],
        ...[permittedBy, FIRST_DELAY_MS, first],
      ],
      { repeatable: true },
    );
    return oneOf(reply, ['added', 'exists', 'full', 'not_permitted']);
  }

  async use(p: {
    readonly subject: Subject;
    readonly passkeyId: string;
    readonly signCount: number;
    readonly backedUp: boolean;
  }): Promise<'used' | 'stale' | 'unknown'> {
    const reply = await this.#link.run(
      'usePasskey',
      [this.#keyOf(p.subject)],
      [this.#link.clock(), p.passkeyId, counter(p.signCount), flag(p.backedUp), newCall()],
      { repeatable: true },
    );
    return oneOf(reply, ['used', 'stale', 'unknown']);
  }

  async remove(subject: Subject, passkeyId: string): Promise<boolean> {
    const reply = await this.#link.run(
      'removePasskey',
      [this.#keyOf(subject), this.#factsOf(subject)],
      [this.#link.clock(), passkeyId],
    );
    return oneOf(reply, ['removed', 'unknown']) === 'removed';
  }

  async reset(subject: Subject): Promise<number> {
    const reply = await this.#link.run(
      'resetPasskeys',
      [this.#keyOf(subject), this.#factsOf(subject)],
      [this.#link.clock(), newCall()],
      { repeatable: true },
    );
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
    const values = listOf(await this.#link.call('hmget', this.#factsOf(subject), ...names));
    return values.map(value => (isAbsent(value) ? undefined : textOf(value)));
  }

  #factsOf(subject: Subject): string {
    return this.#keys.passkeyFactsOf(shardOf(subject), subject);
  }

  #keyOf(subject: Subject): string {
    return this.#keys.passkeysOf(shardOf(subject), subject);
  }
}

const newCall = () => newOperationId(systemEntropy);
const flag = (value: boolean) => (value ? '1' : '0');

/** An unsigned number (WebAuthn 6.1): with a sign in front, what is stored could not be read any more. */
function counter(signCount: number): number {
  if (!Number.isSafeInteger(signCount) || signCount < 0) throw new TypeError('A signature counter is a whole number.');
  return signCount;
}

function oneOf<const T extends string>(reply: unknown, known: readonly T[]): T {
  const [result] = listOf(reply);
  const found = known.find(value => value === result);
  if (found === undefined) throw new TypeError('A script answered with a result this release does not know.');
  return found;
}
