import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './reply.ts';

export interface AuditLine {
  /** Reading after it goes on from there. */
  readonly position: string;
  /** As it was appended. */
  readonly line: string;
}

/**
 * The audit trail of all gateway processes in the order in which Redis got it. The oldest is dropped by count. One key, so one node of
 * a cluster carries all of it: for deployments that want it beside their log, not instead of it.
 */
export class RedisAuditLog {
  readonly #link: RedisLink;
  readonly #key: string;
  readonly #retained: number;

  /** @param retained lines kept, about */
  constructor(link: RedisLink, keys: Keys, retained: number) {
    this.#link = link;
    this.#key = keys.audit;
    this.#retained = retained;
  }

  /** @throws StoreUnavailableError; then the line may or may not be there */
  async append(line: string): Promise<void> {
    await this.#link.call('xadd', this.#key, 'MAXLEN', '~', this.#retained, '*', 'line', line);
  }

  /** @param after a position returned before; without it, reads from the oldest line kept. @throws StoreUnavailableError */
  async read(p: { readonly after?: string; readonly limit: number }): Promise<readonly AuditLine[]> {
    const from = p.after === undefined ? '-' : `(${p.after}`;
    const entries = listOf(await this.#link.call('xrange', this.#key, from, '+', 'COUNT', p.limit));
    return entries.map(entry => {
      const [position, fields] = listOf(entry);
      return { position: textOf(position), line: textOf(listOf(fields)[1]) };
    });
  }
}
