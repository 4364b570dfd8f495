import { dangers, type ElicitationRequest, type JsonObject, type Outcome } from '@postern/elicitation';
import { z } from 'zod';
import { connectionId, credentialId, localText, text, time } from './record-layout.ts';

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

export const requestSchema = z.discriminatedUnion('kind', [
  authorizationRequest,
  paymentRequest,
  confirmationRequest,
  credentialRequest,
  formRequest,
]) satisfies z.ZodType<ElicitationRequest>;

export const approvalSchema = z.object({
  method: z.enum(['button', 'passkey']),
  identity: z.enum(['login', 'external', 'loopback']),
  at: time,
  authTime: time.optional(),
  passkey: text.optional(),
  passkeyAddedAt: time.optional(),
  language: text.optional(),
});

const mode = z.enum(['live', 'test']).optional();

export const chargeSchema = z.object({ reference: text, url: text, mode });

export const outcomeSchema = z.discriminatedUnion('kind', [
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
