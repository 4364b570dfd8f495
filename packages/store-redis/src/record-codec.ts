import {
  type Connection,
  type ConnectionId,
  type ConnectionUse,
  claimAfter,
  DomainError,
  type Elicitation,
  type ElicitationId,
  failureCodes,
  identityModes,
  kinds,
  lossReasons,
  type NewBrowserSession,
  type NewConnection,
  type NewElicitation,
  type NewRevocation,
  type NextElicitation,
  type OneTimeRecord,
  parseConnectionId,
  parseElicitationId,
  RECORD_LAYOUT,
  type Revocation,
  type RevocationId,
  troubles,
} from '@postern/elicitation';
import { z } from 'zod';

/**
 * The opaque part of stored records: JSON with its layout version. Beside it, in fields of their own, stand the values
 * that scripts compare; both together are the record. A layout this release does not know is refused, never guessed at.
 */

const text = z.string();
const time = z.int();
const subject = z.object({ issuer: text, subject: text });
const elicitationId = z.custom<ElicitationId>(value => parseElicitationId(String(value)) !== undefined);
const connectionId = z.custom<ConnectionId>(value => parseConnectionId(String(value)) !== undefined);

const elicitationBase = {
  layout: z.literal(RECORD_LAYOUT),
  elicitationId,
  version: z.int(),
  mcpServerId: text,
  identityMode: z.enum(identityModes),
  subject,
  request: z.object({
    kind: z.enum(kinds),
    provider: text,
    scopes: z.array(text),
    resource: text.exactOptional(),
    expectedAccount: text.exactOptional(),
  }),
  message: text.exactOptional(),
  requestedBy: z.object({ mcpClient: text.exactOptional(), tool: text.exactOptional() }).exactOptional(),
  returnUrl: text.exactOptional(),
  createdAt: time,
  expiresAt: time,
};

const elicitationSchema = z.discriminatedUnion('status', [
  z.object({
    ...elicitationBase,
    status: z.literal('pending'),
    trouble: z.enum(troubles).exactOptional(),
    missing: z.array(text).exactOptional(),
  }),
  z.object({ ...elicitationBase, status: z.literal('active'), attempt: text }),
  z.object({ ...elicitationBase, status: z.literal('verifying'), attempt: text }),
  z.object({
    ...elicitationBase,
    status: z.literal('completed'),
    outcome: z.object({ kind: z.enum(kinds), connectionId, provider: text, scopes: z.array(text) }),
    endedAt: time,
  }),
  z.object({ ...elicitationBase, status: z.literal('failed'), failure: z.enum(failureCodes), endedAt: time }),
  z.object({ ...elicitationBase, status: z.enum(['declined', 'cancelled', 'expired']), endedAt: time }),
]) satisfies z.ZodType<Elicitation>;

const connectionSchema = z.object({
  layout: z.literal(RECORD_LAYOUT),
  connectionId,
  generation: z.int(),
  owner: text,
  subject,
  provider: text,
  resource: text.exactOptional(),
  scopes: z.array(text),
  account: z.object({ id: text, name: text.exactOptional() }).exactOptional(),
  sealedTokens: text,
  accessTokenExpiresAt: time.exactOptional(),
  // What was stored before anything could be refreshed cannot be.
  refreshable: z.boolean().default(false),
  lost: z.object({ reason: z.enum(lossReasons), at: time }).exactOptional(),
  lastUse: z.object({ mcpServerId: text, tool: text.exactOptional(), at: time }).exactOptional(),
  elicitationId,
  createdAt: time,
  updatedAt: time,
}) satisfies z.ZodType<Connection>;

/** What is moved here from a connection is its whole record; only what a revocation needs is read. */
const revocationSchema = z.object({
  layout: z.literal(RECORD_LAYOUT),
  owner: text,
  subject,
  provider: text,
  resource: text.exactOptional(),
  account: z.object({ id: text, name: text.exactOptional() }).exactOptional(),
  elicitationId,
  sealedTokens: text,
});

const clientRegistrationSchema = z.object({ layout: z.literal(RECORD_LAYOUT), sealedRegistration: text });

const oneTimeSchema = z.object({
  layout: z.literal(RECORD_LAYOUT),
  elicitationId,
  mcpServerId: text,
  provider: text.exactOptional(),
  browserBinding: text.exactOptional(),
});

const browserSessionSchema = z.object({
  layout: z.literal(RECORD_LAYOUT),
  subject,
  origin: z.union([z.object({ identityProvider: text }), z.object({ vouchedBy: text })]),
  displayName: text,
  detail: text.exactOptional(),
  authTime: time.exactOptional(),
});

function decode<T>(schema: z.ZodType<T>, json: string, shape: (record: Record<string, unknown>) => unknown): T {
  const parsed = schema.safeParse(shape(recordIn(json)));
  if (!parsed.success) throw unreadable();
  return parsed.data;
}

function recordIn(json: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(json) as object) };
  } catch {
    throw unreadable();
  }
}

/** Without the parser's own error: it could quote what is stored. */
export const unreadable = () =>
  new DomainError('unknown_record_layout', 'A stored record has a layout this release cannot read.');

const layout = RECORD_LAYOUT;

/** Everything of an elicitation that no script looks at. Flat, because there may be millions of them. */
export function encodeElicitation(
  of: NewElicitation | Elicitation,
  next: NextElicitation | { status: 'pending' },
): string {
  const { mcpServerId, identityMode, subject, request, message, returnUrl } = of;
  const requestedBy = claimAfter(of, next);
  const { status: _, ...decided } = next;
  const base = { layout, mcpServerId, identityMode, message, returnUrl };
  return JSON.stringify({ ...base, ...subject, ...request, ...requestedBy, ...decided });
}

function nested({ issuer, subject, kind, provider, scopes, ...record }: Record<string, unknown>) {
  const { resource, expectedAccount, mcpClient, tool, ...rest } = record;
  const requestedBy = present({ mcpClient, tool });
  return {
    ...rest,
    subject: { issuer, subject },
    request: { kind, provider, scopes, ...present({ resource, expectedAccount }) },
    ...(Object.keys(requestedBy).length === 0 ? {} : { requestedBy }),
  };
}

function present(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

export interface ElicitationFields {
  readonly elicitationId: ElicitationId;
  readonly status: string;
  readonly version: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly endedAt?: number;
}

/** @throws DomainError `unknown_record_layout` */
export function decodeElicitation(json: string, fields: ElicitationFields): Elicitation {
  return decode(elicitationSchema, json, record => ({ ...nested(record), ...fields }));
}

/** Everything of a connection that no script looks at. */
export function encodeConnection(of: NewConnection): string {
  const { owner, subject, provider, resource, scopes, account, sealedTokens } = of;
  const { accessTokenExpiresAt, refreshable, elicitationId } = of;
  const whose = { owner, subject, provider, resource };
  return JSON.stringify({
    ...{ ...whose, scopes, account, sealedTokens, accessTokenExpiresAt, refreshable, elicitationId, layout },
  });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeConnection(
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

function timed(text: string, read: (rest: string) => object): object {
  const space = text.indexOf(' ');
  return { ...read(text.slice(space + 1)), at: Number(text.slice(0, space)) };
}

/** The same use is the same text. */
export function encodeUse({ mcpServerId, tool }: ConnectionUse): string {
  return JSON.stringify({ mcpServerId, tool });
}

/** The record a connection would leave behind, without what only a connection needs. */
export function encodeRevocation(of: NewRevocation): string {
  const { owner, subject, provider, resource, account, elicitationId, sealedTokens } = of;
  return JSON.stringify({ owner, subject, provider, resource, account, sealedTokens, elicitationId, layout });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeRevocation(
  json: string,
  fields: { readonly revocationId: RevocationId; readonly createdAt: number; readonly attempts: number },
): Revocation {
  const { layout: _, ...record } = decode(revocationSchema, json, record => record);
  return { ...record, ...fields };
}

/** The same registration is the same text. */
export function encodeClientRegistration(sealedRegistration: string): string {
  return JSON.stringify({ layout, sealedRegistration });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeClientRegistration(json: string): string {
  return decode(clientRegistrationSchema, json, record => record).sealedRegistration;
}

export function encodeOneTime(record: OneTimeRecord): string {
  const { elicitationId, mcpServerId, provider, browserBinding } = record;
  return JSON.stringify({ layout, elicitationId, mcpServerId, provider, browserBinding });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeOneTime(json: string, digest: string): Omit<OneTimeRecord, 'sealed'> {
  const { layout: _, ...record } = decode(oneTimeSchema, json, record => record);
  return { digest, ...record };
}

export function encodeBrowserSession(browserSession: NewBrowserSession): string {
  const { id: _, ...rest } = browserSession;
  return JSON.stringify({ ...rest, layout });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeBrowserSession(json: string) {
  return decode(browserSessionSchema, json, record => record);
}
