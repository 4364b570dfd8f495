import {
  assertTransition,
  type CreateElicitation,
  type CreateResult,
  committed,
  DomainError,
  type Elicitation,
  type ElicitationId,
  type ElicitationStore,
  parseElicitationId,
  RECORD_LAYOUT,
  type Shard,
  type Subject,
  shardIn,
  shardOf,
  type TransitionElicitation,
  type TransitionResult,
} from '@postern/elicitation';
import { connectionOf } from './decoded-connections.ts';
import { askOf, type Keys } from './keys.ts';
import { decodeElicitation, encodeConnection, encodeElicitation, encodeOneTime } from './record-codec.ts';

import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, numberOf, textOf } from './reply.ts';

export interface ElicitationStoreOptions {
  readonly retentionMs: number;
  readonly eventsPerShard: number;
}

/** As many open elicitations of one person as are listed. */
const LISTED = 100;

export class RedisElicitationStore implements ElicitationStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;
  readonly #options: ElicitationStoreOptions;

  constructor(link: RedisLink, keys: Keys, options: ElicitationStoreOptions) {
    this.#link = link;
    this.#keys = keys;
    this.#options = options;
  }

  async create(request: CreateElicitation): Promise<CreateResult> {
    const { elicitation, seen, subjectLimit } = request;
    const { elicitationId, mcpServerId } = elicitation;
    const shard = shardIn(elicitationId);
    const reply = await this.#link.run(
      'createElicitation',
      [
        this.#keys.elicitation(elicitationId),
        this.#keys.open(shard),
        this.#keys.due(shard),
        this.#keys.connection(request.connectionId),
        this.#keys.subjectLimit(shard, mcpServerId, elicitation.subject),
        this.#keys.events(shard),
        this.#keys.openOf(shard, elicitation.subject),
      ],
      [
        this.#link.clock(),
        elicitationId,
        request.operationId,
        encodeElicitation(elicitation, { status: 'pending' }),
        request.ttlMs,
        this.#options.retentionMs,
        askOf(request.coalescingDigest),
        seen.openId ?? '',
        seen.connection === undefined ? '' : `${seen.connection.createdAt} ${seen.connection.generation}`,
        subjectLimit.max,
        subjectLimit.windowMs,
        mcpServerId,
        elicitation.request.kind,
        this.#options.eventsPerShard,
        this.#keys.wake,
        LISTED,
      ],
      { repeatable: true },
    );
    const [result, ...rest] = listOf(reply);
    switch (result) {
      case 'created': {
        const times = { createdAt: numberOf(rest[0]), expiresAt: numberOf(rest[1]) };
        return {
          result,
          elicitation: { ...elicitation, ...times, layout: RECORD_LAYOUT, version: 1, status: 'pending' },
        };
      }
      case 'repeated':
        return { result: 'created', elicitation: elicitationOf(elicitationId, rest) };
      case 'open':
        return { result, elicitationId: idOf(rest[0]) };
      case 'connected':
        return { result, connection: connectionOf(request.connectionId, rest) };
      case 'limited':
        return { result, retryAfterMs: numberOf(rest[0]) };
      case 'taken':
        throw new DomainError('contention', 'The elicitation id belongs to another operation.');
      default:
        throw unknownResult();
    }
  }

  async read(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    const reply = await this.#link.call(
      'hmget',
      this.#keys.elicitation(elicitationId),
      'status',
      'version',
      'createdAt',
      'expiresAt',
      'endedAt',
      'record',
    );
    const found = listOf(reply);
    return isAbsent(found[0]) ? undefined : elicitationOf(elicitationId, found);
  }

  async transition(request: TransitionElicitation): Promise<TransitionResult> {
    const { current, next, putOneTime, putConnection, expiresWithinMs } = request;
    assertTransition(request);
    const { elicitationId } = current;
    const shard = shardIn(elicitationId);
    const none = this.#keys.none(shard);
    const reply = await this.#link.run(
      'transitionElicitation',
      [
        this.#keys.elicitation(elicitationId),
        this.#keys.open(shard),
        this.#keys.due(shard),
        this.#keys.events(shard),
        putOneTime ? this.#keys.oneTime(shard, putOneTime.record.digest) : none,
        putConnection ? this.#keys.connection(putConnection.connectionId) : none,
        putConnection ? this.#keys.connectionsOf(shard, putConnection.subject) : none,
        this.#keys.openOf(shard, current.subject),
      ],
      [
        this.#link.clock(),
        elicitationId,
        request.operationId,
        current.version,
        timingOf(request),
        next.status,
        encodeElicitation(current, next),
        isEnd(next.status) ? '1' : '',
        this.#options.retentionMs,
        current.mcpServerId,
        current.request.kind,
        this.#options.eventsPerShard,
        this.#keys.wake,
        putOneTime?.ttlMs ?? '',
        putOneTime ? encodeOneTime(putOneTime.record) : '',
        putOneTime?.record.sealed ?? '',
        putConnection?.connectionId ?? '',
        putConnection ? encodeConnection(putConnection) : '',
        expiresWithinMs ?? '',
      ],
      { repeatable: true },
    );
    const [result, ...rest] = listOf(reply);
    switch (result) {
      case 'applied':
        return { result, elicitation: committed(request, { now: numberOf(rest[0]), expiresAt: numberOf(rest[1]) }) };
      case 'repeated':
        return { result: 'applied', elicitation: elicitationOf(elicitationId, rest) };
      case 'conflict':
      case 'untimely':
        return { result, current: elicitationOf(elicitationId, rest) };
      case 'missing':
        return { result };
      default:
        throw unknownResult();
    }
  }

  async due(shard: Shard, limit: number): Promise<readonly ElicitationId[]> {
    const reply = await this.#link.run(
      'dueElicitations',
      [this.#keys.due(shard), this.#keys.open(shard)],
      [this.#link.clock(), limit, this.#options.retentionMs],
    );
    return listOf(reply).map(idOf);
  }

  async listOpen(subject: Subject): Promise<readonly Elicitation[]> {
    const index = this.#keys.openOf(shardOf(subject), subject);
    const reply = await this.#link.run('openElicitations', [index], [this.#link.clock()]);
    const [now, ...ids] = listOf(reply);
    const found = await Promise.all(ids.map(id => this.read(idOf(id))));
    // What ended between both reads, and what the index does not know to be over, is left out by the records themselves.
    return found
      .filter(elicitation => elicitation !== undefined)
      .filter(elicitation => !isEnd(elicitation.status) && elicitation.expiresAt > numberOf(now))
      .sort((a, b) => a.createdAt - b.createdAt || (a.elicitationId < b.elicitationId ? -1 : 1));
  }
}

const ends: ReadonlySet<string> = new Set(['completed', 'failed', 'declined', 'cancelled', 'expired']);
const isEnd = (status: Elicitation['status']) => ends.has(status);

/** An end that is due to time comes late, a failed verification whenever it comes, every other move in time. */
function timingOf({ current, events }: TransitionElicitation): 'early' | 'late' | 'any' {
  if (events.includes('expire')) return 'late';
  return current.status === 'verifying' && events.includes('fail') ? 'any' : 'early';
}

/** Reads status, version, createdAt, expiresAt, endedAt, record. */
function elicitationOf(elicitationId: ElicitationId, found: readonly unknown[]): Elicitation {
  const [status, version, createdAt, expiresAt, endedAt, record] = found;
  return decodeElicitation(textOf(record), {
    elicitationId,
    status: textOf(status),
    version: numberOf(version),
    createdAt: numberOf(createdAt),
    expiresAt: numberOf(expiresAt),
    ...(isAbsent(endedAt) ? {} : { endedAt: numberOf(endedAt) }),
  });
}

function idOf(value: unknown): ElicitationId {
  const id = parseElicitationId(textOf(value));
  if (id === undefined) throw new TypeError('Redis answered with something other than an elicitation id.');
  return id;
}

const unknownResult = () => new TypeError('A script answered with a result this release does not know.');
