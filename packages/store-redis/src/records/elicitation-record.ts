import {
  claimAfter,
  type Elicitation,
  type ElicitationId,
  failureCodes,
  identityModes,
  type NewElicitation,
  type NextElicitation,
  type RecordLayout,
  recordLayouts,
  troubles,
} from '@postern/elicitation';
import { z } from 'zod';
import { decode, elicitationId, subject, text, time } from './record-layout.ts';
import { approvalSchema, chargeSchema, outcomeSchema, requestSchema } from './request-schemas.ts';

const base = {
  layout: z.literal(recordLayouts),
  elicitationId,
  version: z.int(),
  mcpServerId: text,
  identityMode: z.enum(identityModes),
  subject,
  request: requestSchema,
  message: text.exactOptional(),
  requestedBy: z.object({ mcpClient: text.exactOptional(), tool: text.exactOptional() }).exactOptional(),
  returnUrl: text.exactOptional(),
  traceparent: text.exactOptional(),
  createdAt: time,
  expiresAt: time,
};

const elicitationSchema = z
  .discriminatedUnion('status', [
    z.object({
      ...base,
      status: z.literal('pending'),
      trouble: z.enum(troubles).exactOptional(),
      missing: z.array(text).exactOptional(),
    }),
    z.object({
      ...base,
      status: z.literal('active'),
      attempt: text,
      approval: approvalSchema.exactOptional(),
      charge: chargeSchema.exactOptional(),
    }),
    z.object({ ...base, status: z.literal('verifying'), attempt: text }),
    z.object({
      ...base,
      status: z.literal('completed'),
      outcome: outcomeSchema,
      endedAt: time,
      redeemedAt: time.exactOptional(),
    }),
    z.object({ ...base, status: z.literal('failed'), failure: z.enum(failureCodes), endedAt: time }),
    z.object({ ...base, status: z.enum(['declined', 'cancelled', 'expired']), endedAt: time }),
  ])
  .refine(isOfOneKind) satisfies z.ZodType<Elicitation>;

/** What is said of one kind only stands in no record of another. */
function isOfOneKind(elicitation: Elicitation): boolean {
  const { kind } = elicitation.request;
  if (elicitation.status === 'completed') return elicitation.outcome.kind === kind;
  return elicitation.status !== 'active' || elicitation.approval === undefined || kind === 'payment';
}

/** Everything of an elicitation that no script looks at. */
export function encodeElicitation(
  of: NewElicitation | Elicitation,
  next: NextElicitation | { status: 'pending' },
  layout: RecordLayout,
): string {
  const { mcpServerId, identityMode, subject, request, message, returnUrl, traceparent } = of;
  const requestedBy = claimAfter(of, next);
  const { status: _, ...decided } = next;
  const common = { layout, mcpServerId, identityMode, message, returnUrl, traceparent };
  // Flat, because there may be millions of them. The others stand apart: their members are called as they please.
  const asked = request.kind === 'authorization' ? request : { request };
  const record = { ...common, ...subject, ...asked, ...requestedBy, ...decided };
  return JSON.stringify(layout === 1 ? record : shortened(record));
}

/** Layout 2: what every live elicitation has goes by one letter. What a status brings keeps its name: it does not stay for long. */
const letters = {
  mcpServerId: 's',
  identityMode: 'm',
  message: 't',
  returnUrl: 'b',
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

/** And what most of them have is not written at all. `kind` stands beside what is asked only for authorizations. */
const usual: ReadonlyMap<string, unknown> = new Map([
  ['identityMode', 'login'],
  ['kind', 'authorization'],
]);

function shortened(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const written = Object.entries(record).filter(([name, value]) => !usual.has(name) || usual.get(name) !== value);
  return Object.fromEntries(written.map(([name, value]) => [letterOf.get(name) ?? name, value]));
}

function lengthened(record: Record<string, unknown>): Record<string, unknown> {
  if (record['layout'] !== 2) return record;
  const named = Object.fromEntries(
    Object.entries(record).map(([letter, value]) => [nameOf.get(letter) ?? letter, value]),
  );
  return { ...Object.fromEntries(usual), ...named };
}

function nested({ issuer, subject, mcpClient, tool, ...record }: Record<string, unknown>) {
  const requestedBy = present({ mcpClient, tool });
  return {
    ...(record['request'] === undefined ? authorization(record) : record),
    subject: { issuer, subject },
    ...(Object.keys(requestedBy).length === 0 ? {} : { requestedBy }),
  };
}

function authorization({ kind, provider, scopes, resource, expectedAccount, ...rest }: Record<string, unknown>) {
  return { ...rest, request: { kind, provider, scopes, ...present({ resource, expectedAccount }) } };
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
  readonly redeemedAt?: number;
}

/** @throws DomainError `unknown_record_layout` */
export function decodeElicitation(json: string, fields: ElicitationFields): Elicitation {
  return decode(elicitationSchema, json, record => ({ ...nested(lengthened(record)), ...fields }));
}
