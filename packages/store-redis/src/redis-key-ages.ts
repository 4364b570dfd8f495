import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { fieldsOf, numberOf, textOf } from './reply.ts';

/** When a key of the configuration was first seen. */
export interface KeyAge {
  /** Epoch milliseconds. */
  readonly since: number;
  /** The key was there when the deployment began to note the ages of keys. */
  readonly isOrEarlier: boolean;
}

/** Since when the deployment has its keys, and when it last used API keys. No key is in it. All methods throw StoreUnavailableError. */
export class RedisKeyAges {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  /** Notes keys of a configuration by their names. Keeps the times of those that are noted. */
  async note(names: readonly string[]): Promise<void> {
    await this.#link.run('noteKeys', [this.#keys.keyAges], [this.#link.clock(), ...names], { repeatable: true });
  }

  /** @param at epoch milliseconds, truncated by the caller: each new value is a write */
  async noteUse(name: string, at: number): Promise<void> {
    await this.#link.call('hset', this.#keys.keyAges, `used ${name}`, at);
  }

  async read(): Promise<{ readonly ages: ReadonlyMap<string, KeyAge>; readonly uses: ReadonlyMap<string, number> }> {
    const ages = new Map<string, KeyAge>();
    const uses = new Map<string, number>();
    for (const [field, value] of fieldsOf(await this.#link.call('hgetall', this.#keys.keyAges))) {
      const [fact = '', name = ''] = field.split(/ (.*)/s);
      const [time, ...rest] = textOf(value).split(' ');
      if (fact === 'key') ages.set(name, { since: numberOf(time), isOrEarlier: rest.length > 0 });
      if (fact === 'used') uses.set(name, numberOf(time));
    }
    return { ages, uses };
  }
}
