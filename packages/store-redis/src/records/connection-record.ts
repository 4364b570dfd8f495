import {
  type Connection,
  type ConnectionId,
  connectionIdOf,
  lossReasons,
  type NewConnection,
} from '@postern/elicitation';
import { z } from 'zod';
import { decodeLasting } from './lasting-record.ts';
import { connectionId, elicitationId, encode, lastUse, subject, text, time, unreadable } from './record-layout.ts';

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
