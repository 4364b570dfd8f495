import {
  type NewPasskey,
  newOperationId,
  type Passkey,
  type PasskeyStore,
  RESET_DELAY_MS,
  type Subject,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { decodePasskey, encodePasskey } from './records/passkey-record.ts';
import type { RedisLink } from './redis-link.ts';
import { fieldsOf, listOf, textOf } from './reply.ts';

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
  ): Promise<'added' | 'exists' | 'full' | 'not_permitted'> {
    const { subject, passkeyId, signCount, backedUp } = passkey;
    const reply = await this.#link.run(
      'addPasskey',
      [this.#keyOf(subject), this.#factsOf(subject)],
      [
        ...[this.#link.clock(), passkeyId, encodePasskey(passkey), counter(signCount), flag(backedUp), newCall(), max],
        ...[permittedBy, RESET_DELAY_MS],
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
    return (await this.#link.callFor('removePasskey', 'hdel', this.#keyOf(subject), passkeyId)) === 1;
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

  async countFrom(subject: Subject): Promise<number | undefined> {
    const from = await this.#link.call('hget', this.#factsOf(subject), 'from');
    return from === null ? undefined : Number(textOf(from));
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
