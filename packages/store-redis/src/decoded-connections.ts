import { type Connection, type ConnectionId, connectionIdOf } from '@postern/elicitation';
import { decodeConnection } from './records/connection-record.ts';
import { unreadable } from './records/record-layout.ts';
import { isAbsent, numberOf, textOf } from './reply.ts';

/** Reads generation, createdAt, updatedAt, record, lost, lastUse. */
export function connectionOf(connectionId: ConnectionId, found: readonly unknown[]): Connection {
  const [generation, createdAt, updatedAt, record, lost, lastUse] = found;
  const connection = decodeConnection(textOf(record), {
    connectionId,
    generation: numberOf(generation),
    createdAt: numberOf(createdAt),
    updatedAt: numberOf(updatedAt),
    ...(isAbsent(lost) ? {} : { lost: textOf(lost) }),
    ...(isAbsent(lastUse) ? {} : { lastUse: textOf(lastUse) }),
  });
  // Its place says whose it is. A record that says otherwise was put there by somebody else than us.
  if (connectionIdOf(connection) !== connectionId) throw unreadable();
  return connection;
}

/** How many connections a process remembers in decoded form. Their tokens stay sealed. */
const KEEP = 5_000;

/**
 * Decoding and checking a record costs more than reading it, and a tool that works has the same connection read again and
 * again. A remembered one counts only for the very fields that it was decoded from.
 */
export class DecodedConnections {
  readonly #entries = new Map<ConnectionId, { readonly found: readonly unknown[]; readonly connection: Connection }>();

  /** @throws DomainError `unknown_record_layout` */
  decode(connectionId: ConnectionId, found: readonly unknown[]): Connection {
    const entry = this.#entries.get(connectionId);
    if (entry !== undefined && found.every((value, at) => value === entry.found[at])) return entry.connection;
    const connection = connectionOf(connectionId, found);
    // The oldest goes first; a map keeps the order in which its keys came.
    if (this.#entries.size >= KEEP) this.#entries.delete(this.#entries.keys().next().value ?? connectionId);
    this.#entries.delete(connectionId);
    this.#entries.set(connectionId, { found, connection });
    return connection;
  }
}
