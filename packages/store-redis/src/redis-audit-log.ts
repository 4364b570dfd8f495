import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './reply.ts';

export interface AuditLine {
  /** Pass it as `after` or `before` to continue from here. */
  readonly position: string;
  /** The line as appended. */
  readonly line: string;
}

/** How long lines stay: until either limit. */
export interface AuditRetention {
  /** Approximate number of lines. */
  readonly lines: number;
  readonly maxAgeMs: number;
}

/** Minimum time between two removals of old lines by one process, on the clock of Redis, in milliseconds. */
const TRIM_MS = 60_000;

/**
 * The audit trail of all gateway processes, in the order of their writes to Redis. Redis drops the oldest lines by count and by age. It
 * is one key, so one node of a cluster carries it all. It complements the log and does not replace it.
 */
export class RedisAuditLog {
  readonly #link: RedisLink;
  readonly #key: string;
  readonly #retention: AuditRetention;
  #trimmedAt = 0;

  constructor(link: RedisLink, keys: Keys, retention: AuditRetention) {
    this.#link = link;
    this.#key = keys.audit;
    this.#retention = retention;
  }

  /** @throws StoreUnavailableError if the line may or may not have been appended */
  async append(line: string): Promise<void> {
    const { lines, maxAgeMs } = this.#retention;
    const position = textOf(await this.#link.call('xadd', this.#key, 'MAXLEN', '~', lines, '*', 'line', line));
    const [now = 0] = position.split('-').map(Number);
    if (now - this.#trimmedAt < TRIM_MS) return;
    this.#trimmedAt = now;
    await this.#link.call('xtrim', this.#key, 'MINID', '~', now - maxAgeMs);
  }

  /** @param after a position returned earlier; without it, reads from the oldest line kept. @throws StoreUnavailableError */
  async read(p: {
    readonly after?: string;
    readonly since?: Date;
    readonly limit: number;
  }): Promise<readonly AuditLine[]> {
    const from = p.after === undefined ? positionOf(p.since, '-') : `(${p.after}`;
    return linesIn(await this.#link.call('xrange', this.#key, from, '+', 'COUNT', p.limit));
  }

  /** Newest first. @param before a position returned earlier. @throws StoreUnavailableError */
  async readBack(p: {
    readonly before?: string;
    readonly since?: Date;
    readonly until?: Date;
    readonly limit: number;
  }): Promise<readonly AuditLine[]> {
    const from = p.before === undefined ? positionOf(p.until, '+') : `(${p.before}`;
    return linesIn(await this.#link.call('xrevrange', this.#key, from, positionOf(p.since, '-'), 'COUNT', p.limit));
  }
}

/** Redis knows no time before 1970. */
const positionOf = (at: Date | undefined, otherwise: '-' | '+') =>
  at === undefined ? otherwise : Math.max(0, at.getTime());

function linesIn(reply: unknown): readonly AuditLine[] {
  return listOf(reply).map(entry => {
    const [position, fields] = listOf(entry);
    return { position: textOf(position), line: textOf(listOf(fields)[1]) };
  });
}
