import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './reply.ts';

export interface AuditLine {
  /** Pass it as `after` to continue from here. */
  readonly position: string;
  /** The line as appended. */
  readonly line: string;
}

/**
 * The audit trail of all gateway processes, in the order of their writes to Redis. Redis drops the oldest lines by count. It is
 * one key, so one node of a cluster carries it all. It complements the log and does not replace it.
 */
export class RedisAuditLog {
  readonly #link: RedisLink;
  readonly #key: string;
  readonly #retained: number;

  /** @param retained approximate number of lines kept */
  constructor(link: RedisLink, keys: Keys, retained: number) {
    this.#link = link;
    this.#key = keys.audit;
    this.#retained = retained;
  }

  /** @throws StoreUnavailableError if the line may or may not have been appended */
  async append(line: string): Promise<void> {
    await this.#link.call('xadd', this.#key, 'MAXLEN', '~', this.#retained, '*', 'line', line);
  }

  /** @param after a position returned earlier; without it, reads from the oldest line kept. @throws StoreUnavailableError */
  async read(p: { readonly after?: string; readonly limit: number }): Promise<readonly AuditLine[]> {
    const from = p.after === undefined ? '-' : `(${p.after}`;
    const entries = listOf(await this.#link.call('xrange', this.#key, from, '+', 'COUNT', p.limit));
    return entries.map(entry => {
      const [position, fields] = listOf(entry);
      return { position: textOf(position), line: textOf(listOf(fields)[1]) };
    });
  }
}
