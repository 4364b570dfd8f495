import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './reply.ts';

/** The streams of the audit trail, in the order of lines that have the same time and number. */
const streams = ['people', 'operators'] as const;
export type AuditStreamName = (typeof streams)[number];

export interface AuditLine {
  readonly stream: AuditStreamName;
  /** Place in the trail. It orders the lines of both streams. */
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

/** An id of Redis, followed by `o` in the stream of operators. */
const POSITION = /^(\d{1,15})-(\d{1,15})(o?)$/;

/**
 * The audit trail of all gateway processes, in the order of their writes to Redis. The lines that only operators can cause have a stream of
 * their own, because Redis drops the oldest lines of a stream by count and by age. Both are in one slot, so one node of a cluster carries
 * them. The trail complements the log and does not replace it.
 */
export class RedisAuditLog {
  readonly #link: RedisLink;
  readonly #keys: Readonly<Record<AuditStreamName, string>>;
  readonly #retention: Readonly<Record<AuditStreamName, AuditRetention>>;
  readonly #trimmedAt = { people: 0, operators: 0 };

  constructor(link: RedisLink, keys: Keys, retention: Readonly<Record<AuditStreamName, AuditRetention>>) {
    this.#link = link;
    this.#keys = { people: keys.audit, operators: keys.operatorAudit };
    this.#retention = retention;
  }

  /** @throws StoreUnavailableError if the line may or may not have been appended */
  async append(stream: AuditStreamName, line: string): Promise<void> {
    const [key, { lines, maxAgeMs }] = [this.#keys[stream], this.#retention[stream]];
    const id = textOf(await this.#link.call('xadd', key, 'MAXLEN', '~', lines, '*', 'line', line));
    const [now = 0] = id.split('-').map(Number);
    if (now - this.#trimmedAt[stream] < TRIM_MS) return;
    this.#trimmedAt[stream] = now;
    await this.#link.call('xtrim', key, 'MINID', '~', now - maxAgeMs);
  }

  /**
   * Oldest first.
   * @param p.after the last position read of each stream; without one, from the oldest line kept. One position for both would miss lines:
   * a stream may get one, after it was read, that is older than the newest of the other.
   * @throws StoreUnavailableError
   */
  async read(p: {
    readonly after?: Readonly<Partial<Record<AuditStreamName, string>>>;
    readonly since?: Date;
    readonly limit: number;
  }): Promise<readonly AuditLine[]> {
    const found = await Promise.all(
      streams.map(async stream => {
        const after = p.after?.[stream];
        const from = after === undefined ? timeOf(p.since, '-') : `(${placeOf(after).id}`;
        return linesIn(stream, await this.#link.call('xrange', this.#keys[stream], from, '+', 'COUNT', p.limit));
      }),
    );
    return found.flat().sort(byPosition).slice(0, p.limit);
  }

  /** Newest first. @param before a position returned earlier. @throws StoreUnavailableError */
  async readBack(p: {
    readonly before?: string;
    readonly since?: Date;
    readonly until?: Date;
    readonly limit: number;
  }): Promise<readonly AuditLine[]> {
    const found = await Promise.all(
      streams.map(async stream => {
        const from = p.before === undefined ? timeOf(p.until, '+') : boundOf(stream, p.before);
        const to = timeOf(p.since, '-');
        return linesIn(stream, await this.#link.call('xrevrange', this.#keys[stream], from, to, 'COUNT', p.limit));
      }),
    );
    return found
      .flat()
      .sort((one, other) => byPosition(other, one))
      .slice(0, p.limit);
  }
}

/** Whether a text is a position in the audit trail. */
export const isAuditPosition = (text: string): boolean => POSITION.test(text);

function placeOf(position: string) {
  const [, time = '', number = '', isOfOperators] = POSITION.exec(position) ?? [];
  return { id: `${time}-${number}`, time: Number(time), number: Number(number), rank: isOfOperators === 'o' ? 1 : 0 };
}

function byPosition(one: AuditLine, other: AuditLine): number {
  const [a, b] = [placeOf(one.position), placeOf(other.position)];
  return a.time - b.time || a.number - b.number || a.rank - b.rank;
}

/** The newest id that a stream may have before a position. */
function boundOf(stream: AuditStreamName, before: string): string {
  const { id, rank } = placeOf(before);
  return streams.indexOf(stream) < rank ? id : `(${id}`;
}

/** Redis knows no time before 1970. */
const timeOf = (at: Date | undefined, otherwise: '-' | '+') =>
  at === undefined ? otherwise : Math.max(0, at.getTime());

function linesIn(stream: AuditStreamName, reply: unknown): readonly AuditLine[] {
  return listOf(reply).map(entry => {
    const [id, fields] = listOf(entry);
    const position = `${textOf(id)}${stream === 'operators' ? 'o' : ''}`;
    return { stream, position, line: textOf(listOf(fields)[1]) };
  });
}
