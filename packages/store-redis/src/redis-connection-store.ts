import {
  type BeginRefresh,
  type Connection,
  type ConnectionId,
  type ConnectionStore,
  connectionIdOf,
  lossReasons,
  type NewConnection,
  oldestFirst,
  parseConnectionId,
  REVOCATION_LIFETIME_MS,
  type RefreshedTokens,
  type Refusals,
  type Subject,
  shardIn,
  shardOf,
  type TokenSetChange,
  USE_NOTED_AGAIN_MS,
} from '@postern/elicitation';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import {
  connectionId,
  decodeLasting,
  elicitationId,
  encode,
  encodeUse,
  LASTING_FIELDS,
  lastUse,
  subject,
  text,
  time,
  unreadable,
} from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { isAbsent, listOf, numberOf, textOf, unknownResult } from './script.ts';

const connectionSchema = z.object({
  connectionId,
  generation: z.int(),
  owner: text,
  subject,
  provider: text,
  resource: text.optional(),
  scopes: z.array(text),
  account: z.object({ id: text, name: text.optional() }).optional(),
  callbackMembers: z.record(text, text).optional(),
  sealedTokens: text,
  accessTokenExpiresAt: time.optional(),
  // Connections from before refresh was supported cannot be refreshed.
  refreshable: z.boolean().default(false),
  rotates: z.boolean().optional(),
  lost: z.object({ reason: z.enum(lossReasons), at: time }).optional(),
  lastUse: lastUse.optional(),
  elicitationId,
  createdAt: time,
  updatedAt: time,
}) satisfies z.ZodType<Connection>;

/** Encodes the members that no script reads as JSON. */
export function encodeConnection(of: NewConnection & Pick<Connection, 'rotates'>): string {
  const { owner, subject, provider, resource, scopes, account, callbackMembers, sealedTokens } = of;
  const { accessTokenExpiresAt, refreshable, rotates, elicitationId } = of;
  const whose = { owner, subject, provider, resource };
  const tokens = { scopes, account, callbackMembers, sealedTokens, accessTokenExpiresAt, refreshable, rotates };
  return encode({ ...whose, ...tokens, elicitationId });
}

/** Reads `LASTING_FIELDS`. @throws DomainError `unknown_record_layout` */
export function connectionOf(connectionId: ConnectionId, found: readonly unknown[]): Connection {
  const connection = decodeLasting(connectionSchema, { connectionId }, found);
  // The key is derived from the owner. No gateway writes a record with another owner.
  if (connectionIdOf(connection) !== connectionId) throw unreadable();
  return connection;
}

/** The transition that completes an elicitation creates its connection, so this port has no verb for that. */
export class RedisConnectionStore extends RedisPort implements ConnectionStore {
  readonly #decoded = new DecodedConnections();

  async read(connectionId: ConnectionId): Promise<Connection | undefined> {
    const key = this.keys.connection(connectionId);
    const reply = await this.link.callFor('readConnection', 'hmget', key, ...LASTING_FIELDS);
    return this.#decode(connectionId, reply);
  }

  #decode(connectionId: ConnectionId, reply: unknown): Connection | undefined {
    const found = listOf(reply);
    return isAbsent(found[0]) ? undefined : this.#decoded.decode(connectionId, found);
  }

  async list(subject: Subject): Promise<readonly Connection[]> {
    const index = this.keys.connectionsOf(shardOf(subject), subject);
    const connections = await this.all(await this.link.call('smembers', index), parseConnectionId, id => this.read(id));
    return connections.sort(oldestFirst(({ connectionId: id, createdAt: at }) => ({ id, at })));
  }

  async beginRefresh(p: Parameters<ConnectionStore['beginRefresh']>[0]): Promise<BeginRefresh> {
    const { connectionId, createdAt, generation } = p.current;
    const reply = await this.repeatable(
      'beginRefresh',
      { connection: this.keys.connection(connectionId) },
      { createdAt, generation, holder: p.holder, leaseMs: p.leaseMs, goneHolder: p.goneHolder },
    );
    const [result, ...rest] = listOf(reply);
    switch (result) {
      case 'begun': {
        const [failures, unfinished, ...connection] = rest;
        return {
          result,
          connection: connectionOf(connectionId, connection),
          failures: numberOf(failures),
          isUnfinished: textOf(unfinished) === '1',
        };
      }
      case 'held':
        return { result, retryAfterMs: numberOf(rest[0]), holder: textOf(rest[1]) };
      case 'postponed':
        return { result, retryAfterMs: numberOf(rest[0]), refusals: refusalsIn(rest[1]) };
      case 'superseded':
        return { result, connection: connectionOf(connectionId, rest) };
      case 'missing':
        return { result };
      default:
        throw unknownResult();
    }
  }

  async finishRefresh(p: Parameters<ConnectionStore['finishRefresh']>[0]): Promise<TokenSetChange> {
    const { connectionId, createdAt, generation } = p.current;
    // Writes new tokens immediately, without waiting for confirmation of an earlier command.
    const stored = this.#decode(
      connectionId,
      await this.link.call('hmget', this.keys.connection(connectionId), ...LASTING_FIELDS),
    );
    if (stored === undefined) return { result: 'missing' };
    // The new record keeps members of the token set it was decided on, and the script replaces no other token set. If that one is
    // already gone, the script writes nothing and only returns the current one.
    const isStored = stored.createdAt === createdAt && stored.generation === generation;
    const record = isStored ? encodeConnection(withTokens(stored, p.tokens)) : undefined;
    const reply = await this.repeatable(
      'finishRefresh',
      {
        connection: this.keys.connection(connectionId),
        ledger: this.keys.ledger(shardIn(connectionId), stored.owner),
      },
      {
        connectionId,
        createdAt,
        generation,
        operationId: p.operationId,
        record,
        wakeUpChannel: this.keys.wake,
      },
    );
    return changeOf(connectionId, reply);
  }

  async postponeRefresh(p: Parameters<ConnectionStore['postponeRefresh']>[0]): Promise<Refusals | undefined> {
    const { connectionId, createdAt, generation } = p.current;
    const reply = await this.repeatable(
      'postponeRefresh',
      { connection: this.keys.connection(connectionId) },
      {
        connectionId,
        createdAt,
        generation,
        holder: p.holder,
        delayMs: p.delayMs,
        wakeUpChannel: this.keys.wake,
        isRefusal: p.isRefusal === true,
      },
    );
    return refusalsIn(listOf(reply)[1]);
  }

  async markLost(p: Parameters<ConnectionStore['markLost']>[0]): Promise<TokenSetChange> {
    const { connectionId, createdAt, generation } = p.current;
    const reply = await this.repeatable(
      'markLost',
      { connection: this.keys.connection(connectionId) },
      { connectionId, createdAt, generation, reason: p.reason, wakeUpChannel: this.keys.wake },
    );
    return changeOf(connectionId, reply);
  }

  async recordUse(p: Parameters<ConnectionStore['recordUse']>[0]): Promise<void> {
    await this.repeatable(
      'recordUse',
      { used: this.keys.connection(p.connectionId) },
      { use: encodeUse(p.use), againAfterMs: USE_NOTED_AGAIN_MS },
    );
  }

  /**
   * Not repeated after a lost reply: the repeat could not tell whether the first call removed the connection, and the user may
   * have reconnected meanwhile. The caller gets StoreUnavailableError. A pending revocation is not forgotten.
   */
  async remove(p: Parameters<ConnectionStore['remove']>[0]): Promise<Connection | undefined> {
    const { connectionId, revocationId, connectedUntil } = p;
    const shard = shardIn(connectionId);
    if (revocationId !== undefined && shardIn(revocationId) !== shard)
      throw new TypeError('A revocation lies in the shard of its connection.');
    const stored = await this.read(connectionId);
    if (stored === undefined) return undefined;
    const none = this.keys.none(shard);
    const reply = await this.once(
      'removeConnection',
      {
        connection: this.keys.connection(connectionId),
        connectionsOf: this.keys.connectionsOf(shard, stored.subject),
        revocation: revocationId === undefined ? none : this.keys.revocation(revocationId),
        dueRevocations: revocationId === undefined ? none : this.keys.dueRevocations(shard),
        connected: this.keys.connected(shard),
        ledger: this.keys.ledger(shard, stored.owner),
      },
      {
        connectionId,
        revocationId,
        revocationLifetimeMs: REVOCATION_LIFETIME_MS,
        wakeUpChannel: this.keys.wake,
        connectedUntil,
      },
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
  return { ...kept, sealedTokens, scopes, refreshable, accessTokenExpiresAt, rotates: rotates ?? kept.rotates };
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
  readonly #entries = new LRUCache<
    ConnectionId,
    { readonly found: readonly unknown[]; readonly connection: Connection }
  >({ max: KEEP });

  /** @throws DomainError `unknown_record_layout` */
  decode(connectionId: ConnectionId, found: readonly unknown[]): Connection {
    const entry = this.#entries.get(connectionId);
    if (entry !== undefined && found.every((value, at) => value === entry.found[at])) return entry.connection;
    const connection = connectionOf(connectionId, found);
    this.#entries.set(connectionId, { found, connection });
    return connection;
  }
}
