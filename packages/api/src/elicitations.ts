import { z } from 'zod/v4';
import { confirmationOutcomeSchema, confirmationRequestSchema } from './confirmations.ts';
import { credentialOutcomeSchema, credentialRequestSchema } from './credentials.ts';
import { formOutcomeSchema, formRequestSchema } from './form/form-request.ts';
import {
  connectionIdSchema,
  elicitationIdSchema,
  identifier,
  providerNameSchema,
  subjectInputSchema,
  subjectSchema,
} from './identifiers.ts';
import { localizedTextSchema, localText } from './local-text.ts';
import { paymentOutcomeSchema, paymentRequestSchema } from './payments.ts';
import { plainText } from './plain-text.ts';

/** In seconds. Users need at least the minimum to act; more than a day would leave requests open too long. */
export const TTL_SECONDS = { min: 10, max: 86_400, default: 600 } as const;
/** Maximum wait of one read, in seconds; below the common 60 s timeout of MCP clients and proxies. */
export const MAX_WAIT_SECONDS = 55;

/** RFC 6749 section 3.3. */
const scopeSchema = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, { error: 'not a scope token (RFC 6749 section 3.3)' });
export const authorizationRequestSchema = z
  .strictObject({
    provider: providerNameSchema,
    scopes: z.array(scopeSchema).max(64).optional().describe("Default: the provider's default scopes."),
    resource: z.url().max(1024).optional().describe('RFC 8707 resource indicator.'),
    expectedAccount: identifier(255).optional().describe('Insist on this account id at the provider.'),
  })
  .meta({ id: 'AuthorizationRequest' });

const everyKind = {
  subject: subjectInputSchema,
  message: localText(300)
    .optional()
    .describe('Plain text shown to the user, quoted and labelled as coming from the MCP server.'),
  requestedBy: z
    .strictObject({ mcpClient: plainText(80).optional(), tool: plainText(80).optional() })
    .optional()
    .describe('Shown as claimed, never trusted.'),
  locale: z
    .string()
    .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,7}$/, { error: 'not a language tag (BCP 47)' })
    .max(35)
    .optional()
    .describe(
      'Language of the user as a BCP 47 tag, such as de or zh-Hant-TW. Used if the user has not chosen one on a page; passed on as ui_locales.',
    ),
  ttlSeconds: z.int().min(TTL_SECONDS.min).max(TTL_SECONDS.max).optional(),
  returnUrl: z
    .url()
    .max(2048)
    .optional()
    .describe('Link target of the last page. Must match a registered return URL exactly.'),
};

/** The request's details are in one object named after its kind. */
export const issueElicitationSchema = z
  .discriminatedUnion('kind', [
    z
      .strictObject({ kind: z.literal('authorization'), ...everyKind, authorization: authorizationRequestSchema })
      .meta({ id: 'IssueAuthorization' }),
    z
      .strictObject({ kind: z.literal('payment'), ...everyKind, payment: paymentRequestSchema })
      .meta({ id: 'IssuePayment' }),
    z
      .strictObject({ kind: z.literal('credential'), ...everyKind, credential: credentialRequestSchema })
      .meta({ id: 'IssueCredential' }),
    z
      .strictObject({ kind: z.literal('confirmation'), ...everyKind, confirmation: confirmationRequestSchema })
      .meta({ id: 'IssueConfirmation' }),
    z.strictObject({ kind: z.literal('form'), ...everyKind, form: formRequestSchema }).meta({ id: 'IssueForm' }),
  ])
  .meta({ id: 'IssueElicitation' });

export const statusSchema = z
  .enum(['pending', 'active', 'verifying', 'completed', 'declined', 'cancelled', 'expired', 'failed'])
  .meta({ id: 'ElicitationStatus' });
/** Final statuses. */
export const terminalStatuses = ['completed', 'declined', 'cancelled', 'expired', 'failed'] as const;

const timestamp = (text: string) => z.iso.datetime().describe(text);

export const authorizationOutcomeSchema = z
  .object({
    kind: z.literal('authorization'),
    connectionId: connectionIdSchema,
    provider: z.string(),
    scopes: z.array(z.string()).describe('Granted by the provider, which may differ from what was asked.'),
  })
  .meta({ id: 'AuthorizationOutcome' });

export const outcomeSchema = z
  .discriminatedUnion('kind', [
    authorizationOutcomeSchema,
    paymentOutcomeSchema,
    credentialOutcomeSchema,
    confirmationOutcomeSchema,
    formOutcomeSchema,
  ])
  .meta({ id: 'Outcome' });

export const kindSchema = z
  .enum(['authorization', 'payment', 'credential', 'confirmation', 'form'])
  .meta({ id: 'ElicitationKind' });

const failureCodes = [
  'wrong_person',
  'verification_expired',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
  'processor_refused',
  'payment_mismatch',
] as const;

export const elicitationSchema = z
  .object({
    elicitationId: elicitationIdSchema,
    kind: kindSchema,
    status: statusSchema,
    url: z.url().describe('The URL that the user opens. Contains only the id.'),
    matchCode: z.string().describe('Show it to the user next to the URL; the page shows the same code.'),
    message: localizedTextSchema.optional(),
    authorization: z
      .object({ provider: z.string(), providerName: z.string() })
      .optional()
      .describe('The requested provider: its id, and its name for users.'),
    createdAt: timestamp('When it was issued.'),
    expiresAt: timestamp('When it expires, unless it ends earlier.'),
    endedAt: timestamp('When it ended.').optional(),
    outcome: outcomeSchema.optional().describe('Present when completed.'),
    redeemedAt: timestamp('When its result was redeemed.').optional(),
    failure: z
      .object({ code: z.enum(failureCodes) })
      .optional()
      .describe('Present when failed.'),
  })
  .meta({ id: 'Elicitation' });

export const waitQuerySchema = z.strictObject({
  wait: z
    // Digits only: `Number` would also accept an empty value, white space, hexadecimals and exponents.
    .preprocess(
      value => (typeof value === 'string' && /^\d{1,2}$/.test(value) ? Number(value) : value),
      z.int().min(0).max(MAX_WAIT_SECONDS),
    )
    .optional()
    .describe('Seconds to wait for a terminal status.'),
});

export const verifyElicitationSchema = z
  .strictObject({
    verificationId: z.string().min(1).max(4096),
    subject: subjectSchema.describe("The user of the application's own browser session."),
    authTime: z.int().min(0).optional().describe('When that user last signed in, epoch seconds.'),
  })
  .meta({ id: 'VerifyElicitation' });

export const verifiedElicitationSchema = z
  .object({
    ...elicitationSchema.shape,
    continueUrl: z.url().describe("Redirect the user's browser here immediately. Valid once."),
  })
  .meta({ id: 'VerifiedElicitation' });

export type IssueElicitation = z.infer<typeof issueElicitationSchema>;
export type IssueElicitationInput = z.input<typeof issueElicitationSchema>;
export type ElicitationBody = z.infer<typeof elicitationSchema>;
export type ElicitationStatusName = z.infer<typeof statusSchema>;
export type OutcomeBody = z.infer<typeof outcomeSchema>;
export type ElicitationKind = z.infer<typeof kindSchema>;
export type VerifyElicitation = z.infer<typeof verifyElicitationSchema>;
export type VerifiedElicitationBody = z.infer<typeof verifiedElicitationSchema>;
