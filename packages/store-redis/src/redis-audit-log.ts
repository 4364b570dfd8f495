import {
  AUDIT_POSITION,
  type AuditLine,
  type AuditRetention,
  type AuditStreamName,
  type AuditTrailStore,
  auditStreams as streams,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './script.ts';

/** Minimum time between two removals of old lines by one process, on the clock of Redis, in milliseconds. */
const TRIM_MS = 60_000;

/**
 * Two streams of Redis, which drops the oldest lines by count and by age. A position is an id of Redis. Both streams are in one slot, so
 * one node of a cluster carries them.
 */
export class RedisAuditLog implements AuditTrailStore {
  readonly #link: RedisLink;
  readonly #keys: Readonly<Record<AuditStreamName, string>>;
  readonly #retention: Readonly<Record<AuditStreamName, AuditRetention>>;
  readonly #trimmedAt = { people: 0, operators: 0 };

  constructor(link: RedisLink, keys: Keys, retention: Readonly<Record<AuditStreamName, AuditRetention>>) {
    this.#link = link;
    this.#keys = { people: keys.audit, operators: keys.operatorAudit };
    this.#retention = retention;
  }

  async append(stream: AuditStreamName, line: string): Promise<void> {
    const [key, { lines, maxAgeMs }] = [this.#keys[stream], this.#retention[stream]];
    const id = textOf(await this.#link.call('xadd', key, 'MAXLEN', '~', lines, '*', 'line', line));
    const [now = 0] = id.split('-').map(Number);
    if (now - this.#trimmedAt[stream] < TRIM_MS) return;
    this.#trimmedAt[stream] = now;
    await this.#link.call('xtrim', key, 'MINID', '~', now - maxAgeMs);
  }

  async read(p: Parameters<AuditTrailStore['read']>[0]): Promise<readonly AuditLine[]> {
    const found = await Promise.all(
      streams.map(async stream => {
        const after = p.after?.[stream];
        const from = after === undefined ? timeOf(p.since, '-') : `(${placeOf(after).id}`;
        return linesIn(stream, await this.#link.call('xrange', this.#keys[stream], from, '+', 'COUNT', p.limit));
      }),
    );
    return found.flat().sort(byPosition).slice(0, p.limit);
  }

  async readBack(p: Parameters<AuditTrailStore['readBack']>[0]): Promise<readonly AuditLine[]> {
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

function placeOf(position: string) {
  const [, time = '', number = '', isOfOperators] = AUDIT_POSITION.exec(position) ?? [];
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
