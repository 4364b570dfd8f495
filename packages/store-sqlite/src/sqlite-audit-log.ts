import {
  type AuditLine,
  type AuditRetention,
  type AuditStreamName,
  type AuditTrailStore,
  auditStreams,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import { Log, positionOf, rankAt, rankOf } from './log.ts';

/** A log per stream. No two lines of both have the same rank. */
export class SqliteAuditLog implements AuditTrailStore {
  readonly #database: Database;
  readonly #retention: Readonly<Record<AuditStreamName, AuditRetention>>;
  readonly #log: Log<AuditLine>;

  constructor(database: Database, retention: Readonly<Record<AuditStreamName, AuditRetention>>) {
    this.#database = database;
    this.#retention = retention;
    this.#log = new Log(database, 'audit');
  }

  async append(stream: AuditStreamName, line: string): Promise<void> {
    const { lines, maxAgeMs } = this.#retention[stream];
    const suffix = stream === 'operators' ? 'o' : '';
    this.#database.commit(() => {
      const after = Math.max(...auditStreams.map(name => this.#log.last(name)));
      const endsAt = this.#database.now() + maxAgeMs;
      this.#log.append(stream, rank => ({ stream, position: positionOf(rank) + suffix, line }), { endsAt, after });
      this.#log.keep(stream, lines);
    });
  }

  async read({ after, since, limit }: Parameters<AuditTrailStore['read']>[0]): Promise<readonly AuditLine[]> {
    const lines = auditStreams.flatMap(stream => {
      const last = after?.[stream];
      return this.#log.of(stream, { after: last === undefined ? before(since) : rankOf(last), limit });
    });
    return lines.sort(byRank).slice(0, limit);
  }

  async readBack(p: Parameters<AuditTrailStore['readBack']>[0]): Promise<readonly AuditLine[]> {
    const end = p.until === undefined ? {} : { upTo: rankAt(p.until.getTime() + 1) - 1 };
    const range = { after: before(p.since), ...(p.before === undefined ? end : { upTo: rankOf(p.before) - 1 }) };
    const lines = auditStreams.flatMap(stream => this.#log.newestOf(stream, { ...range, limit: p.limit }));
    return lines.sort((one, other) => byRank(other, one)).slice(0, p.limit);
  }
}

/** The last rank before a time. */
const before = (time: Date | undefined) => (time === undefined ? -1 : rankAt(time.getTime()) - 1);

const byRank = (one: AuditLine, other: AuditLine) => rankOf(one.position) - rankOf(other.position);
