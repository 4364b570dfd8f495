import type { CommandArgs, CommandKeys, CommandName } from './commands.ts';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './reply.ts';

/** A port over Redis. */
export abstract class RedisPort<K = Keys> {
  protected readonly link: RedisLink;
  protected readonly keys: K;

  constructor(link: RedisLink, keys: K) {
    this.link = link;
    this.keys = keys;
  }

  /** Runs a script, and repeats it after a lost reply. */
  protected repeatable<Name extends CommandName>(
    name: Name,
    keys: CommandKeys<Name>,
    args: CommandArgs<Name>,
  ): Promise<unknown> {
    return this.link.run(name, keys, args, { repeatable: true });
  }

  /** Runs a script whose repeat would not be harmless. @throws StoreUnavailableError after a lost reply */
  protected once<Name extends CommandName>(
    name: Name,
    keys: CommandKeys<Name>,
    args: CommandArgs<Name>,
  ): Promise<unknown> {
    return this.link.run(name, keys, args);
  }

  /** Reads the records of an index. Omits what is no id, and records that are gone. */
  protected async all<Id, Row>(
    index: unknown,
    parse: (text: string) => Id | undefined,
    read: (id: Id) => Promise<Row | undefined>,
  ): Promise<Row[]> {
    const ids = listOf(index).map(id => parse(textOf(id)));
    const found = await Promise.all(ids.map(id => (id === undefined ? undefined : read(id))));
    return found.filter(row => row !== undefined);
  }
}
