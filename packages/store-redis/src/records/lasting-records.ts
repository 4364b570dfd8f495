import {
  type Connection,
  type ConnectionId,
  type Credential,
  type CredentialId,
  connectionIdOf,
  credentialIdOf,
  lossReasons,
  type NewConnection,
  type NewCredential,
} from '@postern/elicitation';
import { z } from 'zod';
import { isAbsent, numberOf, textOf } from '../values.ts';
import {
  connectionId,
  credentialId,
  decode,
  elicitationId,
  encode,
  lastUse,
  localText,
  recordIn,
  subject,
  text,
  time,
  timed,
  unreadable,
} from './record-layout.ts';

/** Of a connection or a credential, in the order in which scripts return them. A credential is never `lost`. */
export const LASTING_FIELDS = ['generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse'] as const;

/** Reads `LASTING_FIELDS`. @param id the member that names the record @throws DomainError `unknown_record_layout` */
function decodeLasting<T>(schema: z.ZodType<T>, id: object, found: readonly unknown[]): T {
  const [generation, createdAt, updatedAt, json, lost, lastUse] = found;
  return decode(schema, textOf(json), record => ({
    ...record,
    ...id,
    generation: numberOf(generation),
    createdAt: numberOf(createdAt),
    updatedAt: numberOf(updatedAt),
    ...(isAbsent(lost) ? {} : { lost: timed(textOf(lost), reason => ({ reason })) }),
    ...(isAbsent(lastUse) ? {} : { lastUse: timed(textOf(lastUse), recordIn) }),
  }));
}

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

const credentialSchema = z.object({
  credentialId,
  generation: z.int(),
  owner: text,
  subject,
  name: text,
  title: localText,
  fields: z.array(text),
  sealedValues: text,
  elicitationId,
  lastUse: lastUse.optional(),
  createdAt: time,
  updatedAt: time,
}) satisfies z.ZodType<Credential>;

/** Encodes the members that no script reads as JSON. */
export function encodeCredential(of: NewCredential): string {
  const { owner, subject, name, title, fields, sealedValues, elicitationId } = of;
  return encode({ owner, subject, name, title, fields, sealedValues, elicitationId });
}

/** Reads `LASTING_FIELDS`. @throws DomainError `unknown_record_layout` */
export function credentialOf(credentialId: CredentialId, found: readonly unknown[]): Credential {
  const credential = decodeLasting(credentialSchema, { credentialId }, found);
  // The key is derived from the owner. No gateway writes a record with another owner.
  if (credentialIdOf(credential) !== credentialId) throw unreadable();
  return credential;
}
