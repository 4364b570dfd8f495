import type { KeyAge, KeyAgeStore } from '@postern/elicitation';
import { RedisPort } from './redis-link.ts';
import { fieldsOf, numberOf, textOf } from './script.ts';

/** One hash, whose fields are `key <name>` and `used <name>`. */
export class RedisKeyAges extends RedisPort implements KeyAgeStore {
  async note(names: readonly string[]): Promise<void> {
    await this.repeatable('noteKeys', { keyAges: this.keys.keyAges }, { names });
  }

  async noteUse(name: string, at: number): Promise<void> {
    await this.link.call('hset', this.keys.keyAges, `used ${name}`, at);
  }

  async read(): Promise<{ readonly ages: ReadonlyMap<string, KeyAge>; readonly uses: ReadonlyMap<string, number> }> {
    const ages = new Map<string, KeyAge>();
    const uses = new Map<string, number>();
    for (const [field, value] of fieldsOf(await this.link.call('hgetall', this.keys.keyAges))) {
      const [fact = '', name = ''] = field.split(/ (.*)/s);
      const [time, ...rest] = textOf(value).split(' ');
      if (fact === 'key') ages.set(name, { since: numberOf(time), isOrEarlier: rest.length > 0 });
      if (fact === 'used') uses.set(name, numberOf(time));
    }
    return { ages, uses };
  }
}
