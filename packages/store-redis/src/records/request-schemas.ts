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
  resource: text.exactOptional(),
  expectedAccount: text.exactOptional(),
});

const paymentRequest = z.object({
  kind: z.literal('payment'),
  digest,
  terms: z.object({
    payee: z.object({ name: text }),
    amount,
    items: z.array(z.object({ label: localText, quantity: z.int(), unitMinorUnits: z.int() })).exactOptional(),
    reference: text,
  }),
  processor: text,
  payeeAccount: text.exactOptional(),
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
    action: localText.exactOptional(),
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
      pattern: text.exactOptional(),
      help: localText.exactOptional(),
      example: localText.exactOptional(),
      multiline: z.boolean().exactOptional(),
      maxLength: z.int(),
    }),
  ),
  retention: z.enum(['once', 'lasting']),
  rejectedGeneration: z.int().exactOptional(),
});

/** Parsed JSON, so always JSON. Copying by members would lose a member named like one of `Object.prototype`. */
const jsonObject = z.custom<JsonObject>(value => typeof value === 'object' && value !== null && !Array.isArray(value));

const formRequest = z.object({
  kind: z.literal('form'),
  digest,
  title: localText.exactOptional(),
  requestedSchema: jsonObject,
  texts: jsonObject.exactOptional(),
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
  authTime: time.exactOptional(),
  passkey: text.exactOptional(),
  passkeyAddedAt: time.exactOptional(),
  language: text.exactOptional(),
});

const mode = z.enum(['live', 'test']).exactOptional();

export const chargeSchema = z.object({ reference: text, url: text, mode });

export const outcomeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('authorization'), connectionId, provider: text, scopes: z.array(text) }),
  z.object({
    kind: z.literal('payment'),
    digest,
    approval: approvalSchema,
    processor: text,
    processorReference: text.exactOptional(),
    mode,
  }),
  z.object({ kind: z.literal('confirmation'), digest, approval: approvalSchema }),
  z.object({ kind: z.literal('credential'), name: text, credentialId: credentialId.exactOptional() }),
  z.object({ kind: z.literal('form') }),
]) satisfies z.ZodType<Outcome>;
