import {
  claimAfter,
  dangers,
  type Elicitation,
  type ElicitationId,
  type ElicitationRequest,
  failureCodes,
  identityModes,
  type JsonObject,
  type NewElicitation,
  type NextElicitation,
  type Outcome,
  parseElicitationId,
  retryReasons,
} from '@postern/elicitation';
import { z } from 'zod';
import { isAbsent, numberOf, textOf } from '../values.ts';
import {
  connectionId,
  credentialId,
  decode,
  elicitationId,
  encode,
  localText,
  subject,
  text,
  time,
  unreadable,
} from './record-layout.ts';

/** One schema per kind, for the request and for its outcome. */

const digest = text;
const amount = z.object({ currency: text, minorUnits: z.int() });

const authorizationRequest = z.object({
  kind: z.literal('authorization'),
  provider: text,
  scopes: z.array(text),
  resource: text.optional(),
  expectedAccount: text.optional(),
});

const paymentRequest = z.object({
  kind: z.literal('payment'),
  digest,
  terms: z.object({
    payee: z.object({ name: text }),
    amount,
    items: z.array(z.object({ label: localText, quantity: z.int(), unitMinorUnits: z.int() })).optional(),
    reference: text,
  }),
  processor: text,
  payeeAccount: text.optional(),
});

const fact = z.discriminatedUnion('type', [
  z.object({ label: localText, type: z.literal('text'), value: localText }),
  z.object({ label: localText, type: z.literal('number'), value: z.number() }),
  z.object({ label: localText, type: z.literal('amount'), value: amount }),
  z.object({ label: localText, type: z.literal('time'), value: text }),
  z.object({ label: localText, type: z.literal('host'), value: text }),
]);

const confirmationRequest = z.object({
  kind: z.literal('confirmation'),
  digest,
  terms: z.object({
    title: localText,
    action: localText.optional(),
    facts: z.array(fact),
    danger: z.enum(dangers),
  }),
});

const credentialRequest = z.object({
  kind: z.literal('credential'),
  digest,
  name: text,
  title: localText,
  fields: z.array(
    z.object({
      name: text,
      label: localText,
      secret: z.boolean(),
      pattern: text.optional(),
      help: localText.optional(),
      example: localText.optional(),
      multiline: z.boolean().optional(),
      maxLength: z.int(),
    }),
  ),
  retention: z.enum(['once', 'lasting']),
  rejectedGeneration: z.int().optional(),
});

/** Parsed JSON, so always JSON. Copying by members would lose a member named like one of `Object.prototype`. */
const jsonObject = z.custom<JsonObject>(value => typeof value === 'object' && value !== null && !Array.isArray(value));

const formRequest = z.object({
  kind: z.literal('form'),
  digest,
  title: localText.optional(),
  requestedSchema: jsonObject,
  texts: jsonObject.optional(),
  secretFields: z.array(text),
});

const requestSchema = z.discriminatedUnion('kind', [
  authorizationRequest,
  paymentRequest,
  confirmationRequest,
  credentialRequest,
  formRequest,
]) satisfies z.ZodType<ElicitationRequest>;

const approvalSchema = z.object({
  method: z.enum(['button', 'passkey']),
  identity: z.enum(['login', 'external', 'loopback']),
  at: time,
  authTime: time.optional(),
  passkey: text.optional(),
  passkeyAddedAt: time.optional(),
  language: text.optional(),
});

const mode = z.enum(['live', 'test']).optional();

const chargeSchema = z.object({ reference: text, url: text, mode });

const outcomeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('authorization'), connectionId, provider: text, scopes: z.array(text) }),
  z.object({
    kind: z.literal('payment'),
    digest,
    approval: approvalSchema,
    processor: text,
    processorReference: text.optional(),
    mode,
  }),
  z.object({ kind: z.literal('confirmation'), digest, approval: approvalSchema }),
  z.object({ kind: z.literal('credential'), name: text, credentialId: credentialId.optional() }),
  z.object({ kind: z.literal('form') }),
]) satisfies z.ZodType<Outcome>;

const base = {
  elicitationId,
  version: z.int(),
  mcpServerId: text,
  identityMode: z.enum(identityModes),
  subject,
  request: requestSchema,
  message: localText.optional(),
  requestedBy: z.object({ mcpClient: text.optional(), tool: text.optional() }).optional(),
  returnUrl: text.optional(),
  locale: text.optional(),
  traceparent: text.optional(),
  createdAt: time,
  expiresAt: time,
};

const elicitationSchema = z
  .discriminatedUnion('status', [
    z.object({
      ...base,
      status: z.literal('pending'),
      retryReason: z.enum(retryReasons).optional(),
      missing: z.array(text).optional(),
    }),
    z.object({
      ...base,
      status: z.literal('active'),
      attempt: text,
      approval: approvalSchema.optional(),
      charge: chargeSchema.optional(),
    }),
    z.object({ ...base, status: z.literal('verifying'), attempt: text }),
    z.object({
      ...base,
      status: z.literal('completed'),
      outcome: outcomeSchema,
      endedAt: time,
      redeemedAt: time.optional(),
    }),
    z.object({ ...base, status: z.literal('failed'), failure: z.enum(failureCodes), endedAt: time }),
    z.object({ ...base, status: z.enum(['declined', 'cancelled', 'expired']), endedAt: time }),
  ])
  .refine(isOfOneKind) satisfies z.ZodType<Elicitation>;

/** Outcome and request have the same kind, and only payments have an approval. */
function isOfOneKind(elicitation: Elicitation): boolean {
  const { kind } = elicitation.request;
  if (elicitation.status === 'completed') return elicitation.outcome.kind === kind;
  return elicitation.status !== 'active' || elicitation.approval === undefined || kind === 'payment';
}

/** Encodes the members that no script reads as JSON. */
export function encodeElicitation(
  of: NewElicitation | Elicitation,
  next: NextElicitation | { status: 'pending' },
): string {
  const { mcpServerId, identityMode, subject, request, message, returnUrl, locale, traceparent } = of;
  const requestedBy = claimAfter(of, next);
  const { status: _, ...changes } = next;
  // An undefined member would remove what was asked, such as its scopes.
  const decided = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  const common = { mcpServerId, identityMode, message, returnUrl, locale, traceparent };
  // Authorizations are flat, because there may be millions. Other requests are nested, because their members may have any name.
  const asked = request.kind === 'authorization' ? request : { request };
  return encode(shortened({ ...common, ...subject, ...asked, ...requestedBy, ...decided }));
}

/**
 * One-letter names for members that every live elicitation has, to save memory. Members of a status are short-lived and keep
 * their names.
 */
const letters = {
  mcpServerId: 's',
  identityMode: 'm',
  message: 't',
  returnUrl: 'b',
  locale: 'l',
  traceparent: 'c',
  issuer: 'i',
  subject: 'u',
  kind: 'k',
  provider: 'p',
  scopes: 'o',
  resource: 'r',
  expectedAccount: 'a',
  mcpClient: 'h',
  tool: 'f',
} as const;
const letterOf = new Map<string, string>(Object.entries(letters));
const nameOf = new Map<string, string>(Object.entries(letters).map(([name, letter]) => [letter, name]));

/** The most frequent values are omitted. `kind` is a member of the record only for authorizations. */
const usual: ReadonlyMap<string, unknown> = new Map([
  ['identityMode', 'login'],
  ['kind', 'authorization'],
]);

function shortened(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const written = Object.entries(record).filter(([name, value]) => !usual.has(name) || usual.get(name) !== value);
  return Object.fromEntries(written.map(([name, value]) => [letterOf.get(name) ?? name, value]));
}

function lengthened(record: Record<string, unknown>): Record<string, unknown> {
  const named = Object.fromEntries(
    Object.entries(record).map(([letter, value]) => [nameOf.get(letter) ?? letter, value]),
  );
  return { ...Object.fromEntries(usual), ...named };
}

function nested({ issuer, subject, mcpClient, tool, ...record }: Record<string, unknown>) {
  return {
    ...(record['request'] === undefined ? authorization(record) : record),
    subject: { issuer, subject },
    requestedBy: mcpClient === undefined && tool === undefined ? undefined : { mcpClient, tool },
  };
}

function authorization({ kind, provider, scopes, resource, expectedAccount, ...rest }: Record<string, unknown>) {
  return { ...rest, request: { kind, provider, scopes, resource, expectedAccount } };
}

interface ElicitationFields {
  readonly elicitationId: ElicitationId;
  readonly status: string;
  readonly version: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly endedAt?: number;
  readonly redeemedAt?: number;
}

/** @throws DomainError `unknown_record_layout` @internal */
export function decodeElicitation(json: string, fields: ElicitationFields): Elicitation {
  return decode(elicitationSchema, json, record => ({ ...nested(lengthened(record)), ...fields }));
}

/**
 * Redis stores a hash compactly if no value is longer than 64 bytes (`hash-max-listpack-value`), and otherwise needs about twice
 * the memory. A short record is therefore split across several fields. Splits are between characters, so each field is text.
 */
const LONGEST = 64;
const FURTHER = ['r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8'] as const;

/** The fields of a record. A long record is in the first field alone. @internal */
export const RECORD_FIELDS = ['record', ...FURTHER] as const;

/** Field names and values of a record, for one HSET. */
export function recordFields(record: string): readonly string[] {
  const pieces = piecesOf(record);
  return pieces === undefined ? ['record', record] : pieces.flatMap((piece, at) => [RECORD_FIELDS[at] ?? '', piece]);
}

/** Returns undefined if the record is too long for all fields. */
function piecesOf(record: string): readonly string[] | undefined {
  if (record.length > LONGEST * RECORD_FIELDS.length) return undefined;
  const bytes = Buffer.from(record);
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + LONGEST, bytes.length);
    while (isWithinCharacter(bytes[to])) to -= 1;
    pieces.push(bytes.toString('utf8', from, to));
    from = to;
  }
  return pieces.length > RECORD_FIELDS.length ? undefined : pieces;
}

/** UTF-8: every byte of a character but its first is 10xxxxxx. */
const isWithinCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** @param values the values of RECORD_FIELDS @internal */
export function joinedRecord(values: readonly unknown[]): string {
  return values.map(value => (isAbsent(value) ? '' : textOf(value))).join('');
}

const PLAIN_FIELDS = ['status', 'version', 'createdAt', 'expiresAt', 'endedAt', 'redeemed'] as const;

/** The fields of an elicitation, in the order of `../commands/elicitation-fields.lua`. */
export const ELICITATION_FIELDS = [...PLAIN_FIELDS, ...RECORD_FIELDS] as const;

/** Reads `ELICITATION_FIELDS`. @throws DomainError `unknown_record_layout` */
export function elicitationOf(elicitationId: ElicitationId, found: readonly unknown[]): Elicitation {
  const [status, version, createdAt, expiresAt, endedAt, redeemed, ...record] = found.slice(
    0,
    ELICITATION_FIELDS.length,
  );
  // Every elicitation has these fields. A record without them has another layout.
  if ([status, version, createdAt, expiresAt].some(isAbsent)) throw unreadable();
  return decodeElicitation(joinedRecord(record), {
    elicitationId,
    status: textOf(status),
    version: numberOf(version),
    createdAt: numberOf(createdAt),
    expiresAt: numberOf(expiresAt),
    ...(isAbsent(endedAt) ? {} : { endedAt: numberOf(endedAt) }),
    // `<at> <call> <redemption>`; empty until it is redeemed.
    ...(isAbsent(redeemed) || redeemed === '' ? {} : { redeemedAt: numberOf(textOf(redeemed).split(' ', 1)[0]) }),
  });
}

export function elicitationIdOf(value: unknown): ElicitationId {
  const id = parseElicitationId(textOf(value));
  if (id === undefined) throw new TypeError('Redis answered with something other than an elicitation id.');
  return id;
}
