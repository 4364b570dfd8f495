import {
  type Connection,
  type ConnectionId,
  connectionIdOf,
  lossReasons,
  type NewConnection,
} from '@postern/elicitation';
import { z } from 'zod';
import { isAbsent, numberOf, textOf } from '../reply.ts';
import {
  connectionId,
  decode,
  elicitationId,
  encode,
  lastUse,
  recordIn,
  subject,
  text,
  time,
  timed,
  unreadable,
} from './record-layout.ts';

const connectionSchema = z.object({
  connectionId,
  generation: z.int(),
  owner: text,
  subject,
  provider: text,
  resource: text.exactOptional(),
  scopes: z.array(text),
  account: z.object({ id: text, name: text.exactOptional() }).exactOptional(),
  callbackMembers: z.record(text, text).exactOptional(),
  sealedTokens: text,
  accessTokenExpiresAt: time.exactOptional(),
  // Connections from before refresh was supported cannot be refreshed.
  refreshable: z.boolean().default(false),
  rotates: z.boolean().exactOptional(),
  lost: z.object({ reason: z.enum(lossReasons), at: time }).exactOptional(),
  lastUse: lastUse.exactOptional(),
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

/** @throws DomainError `unknown_record_layout` */
function decodeConnection(
  json: string,
  fields: Pick<Connection, 'connectionId' | 'generation' | 'createdAt' | 'updatedAt'> & {
    /** `<at> <reason>` */
    readonly lost?: string;
    /** `<at> <use>`, see `encodeUse`. */
    readonly lastUse?: string;
  },
): Connection {
  const { lost, lastUse, ...plain } = fields;
  return decode(connectionSchema, json, record => ({
    ...record,
    ...plain,
    ...(lost === undefined ? {} : { lost: timed(lost, reason => ({ reason })) }),
    ...(lastUse === undefined ? {} : { lastUse: timed(lastUse, recordIn) }),
  }));
}

/** In the order in which scripts return them. */
export const CONNECTION_FIELDS = ['generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse'] as const;

/** Reads `CONNECTION_FIELDS`. @throws DomainError `unknown_record_layout` */
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
  // The key is derived from the owner. No gateway writes a record with another owner.
  if (connectionIdOf(connection) !== connectionId) throw unreadable();
  return connection;
}
