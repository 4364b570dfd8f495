import {
  type BeginRefresh,
  type Connection,
  type ConnectionId,
  type ConnectionStore,
  type ConnectionUse,
  definedOnly,
  type LossReason,
  parseConnectionId,
  type RefreshedTokens,
  type Refusals,
  type RevocationId,
  type Subject,
  shardIn,
  shardOf,
  type TokenSetChange,
  type TokenSetOf,
  USE_NOTED_AGAIN_MS,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { CONNECTION_FIELDS, connectionOf, encodeConnection } from './records/connection-record.ts';
import { encodeUse } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { REVOCATION_LIFETIME_MS } from './redis-revocation-store.ts';
import { isAbsent, listOf, numberOf, textOf, unknownResult } from './reply.ts';

/** The transition that completes an elicitation creates its connection, so this port has no verb for that. */
export class RedisConnectionStore implements ConnectionStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;
  readonly #decoded = new DecodedConnections();

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async read(connectionId: ConnectionId): Promise<Connection | undefined> {
    const key = this.#keys.connection(connectionId);
    const reply = await this.#link.callFor('readConnection', 'hmget', key, ...CONNECTION_FIELDS);
    return this.#decode(connectionId, reply);
  }

  #decode(connectionId: ConnectionId, reply: unknown): Connection | undefined {
    const found = listOf(reply);
    return isAbsent(found[0]) ? undefined : this.#decoded.decode(connectionId, found);
  }

  async list(subject: Subject): Promise<readonly Connection[]> {
    const index = this.#keys.connectionsOf(shardOf(subject), subject);
    const ids = listOf(await this.#link.call('smembers', index)).map(value => parseConnectionId(textOf(value)));
    const connections = await Promise.all(ids.map(id => (id === undefined ? undefined : this.read(id))));
    return connections
      .filter(connection => connection !== undefined)
      .sort((a, b) => a.createdAt - b.createdAt || (a.connectionId < b.connectionId ? -1 : 1));
  }

  async beginRefresh(p: {
    readonly current: TokenSetOf;
    readonly holder: string;
    readonly leaseMs: number;
    readonly goneHolder?: string;
  }): Promise<BeginRefresh> {
    const { connectionId, createdAt, generation } = p.current;
    const reply = await this.#link.run(
      'beginRefresh',
      [this.#keys.connection(connectionId)],
      [this.#link.clock(), createdAt, generation, p.holder, p.leaseMs, p.goneHolder ?? ''],
      { repeatable: true },
    );
    const [result, ...rest] = listOf(reply);
    switch (result) {
      case 'begun': {
        const [failures, unfinished, ...connection] = rest;
        return {
          ...{ result, connection: connectionOf(connectionId, connection), failures: numberOf(failures) },
          isUnfinished: textOf(unfinished) === '1',
        };
      }
      case 'held':
        return { result, retryAfterMs: numberOf(rest[0]), holder: textOf(rest[1]) };
      case 'postponed':
        return { result, retryAfterMs: numberOf(rest[0]), ...definedOnly({ refusals: refusalsIn(rest[1]) }) };
      case 'superseded':
        return { result, connection: connectionOf(connectionId, rest) };
      case 'missing':
        return { result };
      default:
        throw unknownResult();
    }
  }

  async finishRefresh(p: {
    readonly current: TokenSetOf;
    readonly tokens: RefreshedTokens;
    readonly operationId: string;
  }): Promise<TokenSetChange> {
    const { connectionId, createdAt, generation } = p.current;
    // Writes new tokens immediately, without waiting for confirmation of an earlier command.
    const stored = this.#decode(
      connectionId,
      await this.#link.call('hmget', this.#keys.connection(connectionId), ...CONNECTION_FIELDS),
    );
    if (stored === undefined) return { result: 'missing' };
    // The new record keeps members of the token set it was decided on, and the script replaces no other token set. If that one is
    // already gone, the script writes nothing and only returns the current one.
    const isStored = stored.createdAt === createdAt && stored.generation === generation;
    const record = isStored ? encodeConnection(withTokens(stored, p.tokens)) : '';
    const reply = await this.#link.run(
      'finishRefresh',
      [this.#keys.connection(connectionId), this.#keys.ledger(shardIn(connectionId), stored.owner)],
      [this.#link.clock(), connectionId, createdAt, generation, p.operationId, record, this.#keys.wake],
      { repeatable: true },
    );
    return changeOf(connectionId, reply);
  }

  async postponeRefresh(p: {
    readonly current: TokenSetOf;
    readonly holder: string;
    readonly delayMs: number;
    readonly isRefusal?: boolean;
  }): Promise<Refusals | undefined> {
    const { connectionId, createdAt, generation } = p.current;
    const isRefusal = p.isRefusal === true ? '1' : '0';
    const reply = await this.#link.run(
      'postponeRefresh',
      [this.#keys.connection(connectionId)],
      [this.#link.clock(), connectionId, createdAt, generation, p.holder, p.delayMs, this.#keys.wake, isRefusal],
      { repeatable: true },
    );
    return refusalsIn(listOf(reply)[1]);
  }

  async markLost(p: { readonly current: TokenSetOf; readonly reason: LossReason }): Promise<TokenSetChange> {
    const { connectionId, createdAt, generation } = p.current;
    const reply = await this.#link.run(
      'markLost',
      [this.#keys.connection(connectionId)],
      [this.#link.clock(), connectionId, createdAt, generation, p.reason, this.#keys.wake],
      { repeatable: true },
    );
    return changeOf(connectionId, reply);
  }

  async recordUse(p: { readonly connectionId: ConnectionId; readonly use: ConnectionUse }): Promise<void> {
    await this.#link.run(
      'recordUse',
      [this.#keys.connection(p.connectionId)],
      [this.#link.clock(), encodeUse(p.use), USE_NOTED_AGAIN_MS],
      { repeatable: true },
    );
  }

  /**
   * Not repeated after a lost reply: the repeat could not tell whether the first call removed the connection, and the user may
   * have reconnected meanwhile. The caller gets StoreUnavailableError. A pending revocation is not forgotten.
   */
  async remove(p: {
    readonly connectionId: ConnectionId;
    readonly revocationId?: RevocationId;
    readonly connectedUntil?: number;
  }): Promise<Connection | undefined> {
    const { connectionId, revocationId, connectedUntil } = p;
    const shard = shardIn(connectionId);
    if (revocationId !== undefined && shardIn(revocationId) !== shard)
      throw new TypeError('A revocation lies in the shard of its connection.');
    const stored = await this.read(connectionId);
    if (stored === undefined) return undefined;
    const none = this.#keys.none(shard);
    const reply = await this.#link.run(
      'removeConnection',
      [
        this.#keys.connection(connectionId),
        this.#keys.connectionsOf(shard, stored.subject),
        revocationId === undefined ? none : this.#keys.revocation(revocationId),
        revocationId === undefined ? none : this.#keys.dueRevocations(shard),
        this.#keys.connected(shard),
        this.#keys.ledger(shard, stored.owner),
      ],
      [
        this.#link.clock(),
        connectionId,
        revocationId ?? '',
        REVOCATION_LIFETIME_MS,
        this.#keys.wake,
        connectedUntil ?? '',
      ],
    );
    const found = listOf(reply);
    return found.length === 0 ? undefined : connectionOf(connectionId, found);
  }
}

function changeOf(connectionId: ConnectionId, reply: unknown): TokenSetChange {
  const [result, ...connection] = listOf(reply);
  switch (result) {
    case 'stored':
    case 'superseded':
      return { result, connection: connectionOf(connectionId, connection) };
    case 'missing':
      return { result };
    default:
      throw unknownResult();
  }
}

function withTokens({ accessTokenExpiresAt: _, ...kept }: Connection, tokens: RefreshedTokens): Connection {
  const { sealedTokens, scopes, refreshable, accessTokenExpiresAt, rotates } = tokens;
  return { ...kept, sealedTokens, scopes, refreshable, ...definedOnly({ accessTokenExpiresAt, rotates }) };
}

/** Reads `<generation> <first at> <last at> <count> <1 if the last attempt was refused>`. Empty without refusals. */
function refusalsIn(value: unknown): Refusals | undefined {
  const text = textOf(value);
  if (text === '') return undefined;
  const [, firstAt, lastAt, count, isLatest] = text.split(' ');
  return { count: numberOf(count), firstAt: numberOf(firstAt), lastAt: numberOf(lastAt), isLatest: isLatest === '1' };
}

/** Maximum number of decoded connections that a process caches. Their tokens stay sealed. */
const KEEP = 5_000;

/**
 * Decoding and checking a record costs more than reading it, and an active tool reads the same connection repeatedly. A cached
 * connection is used only if the stored fields are unchanged.
 */
class DecodedConnections {
  readonly #entries = new Map<ConnectionId, { readonly found: readonly unknown[]; readonly connection: Connection }>();

  /** @throws DomainError `unknown_record_layout` */
  decode(connectionId: ConnectionId, found: readonly unknown[]): Connection {
    const entry = this.#entries.get(connectionId);
    if (entry !== undefined && found.every((value, at) => value === entry.found[at])) return entry.connection;
    const connection = connectionOf(connectionId, found);
    // Evicts the oldest entry: a map iterates in insertion order.
    if (this.#entries.size >= KEEP) this.#entries.delete(this.#entries.keys().next().value ?? connectionId);
    this.#entries.delete(connectionId);
    this.#entries.set(connectionId, { found, connection });
    return connection;
  }
}
