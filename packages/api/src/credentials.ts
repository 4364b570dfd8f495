import { z } from 'zod/v4';
import { issuerSchema, subjectIdentifierSchema } from './identifiers.ts';
import { localText } from './local-text.ts';
import { patternFault, patternSchema } from './patterns.ts';
import { plainText } from './plain-text.ts';

export const credentialIdSchema = z
  .string()
  .max(128)
  .describe('Opaque. Names one stored credential; grants nothing by itself.');
export const credentialNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, { error: 'lower-case letters, digits and hyphens' });

/** Maximum length of a typed value, in UTF-16 code units. */
export const MAX_CREDENTIAL_LENGTH = 4096;

export const credentialFieldSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/, { error: 'letters, digits and underscores' })
      .describe('Names the value for you.'),
    label: localText(60),
    secret: z.boolean().default(true).describe('Masked on the page.'),
    pattern: patternSchema
      .refine(pattern => patternFault(pattern) === undefined, { error: ({ input }) => patternFault(String(input)) })
      .optional()
      .describe('Regular expression in RE2 syntax that the whole value must match.'),
    help: localText(200).optional(),
    example: localText(100).optional().describe('Shown as an example, never filled in.'),
    multiline: z.boolean().optional().describe('Line breaks belong to the value, as in a private key.'),
    maxLength: z.int().min(1).max(MAX_CREDENTIAL_LENGTH).default(MAX_CREDENTIAL_LENGTH),
  })
  .meta({ id: 'CredentialField' });

export const credentialRequestSchema = z
  .strictObject({
    name: credentialNameSchema.describe('Your name for the credential; one per user.'),
    title: localText(80).describe('Title for users: "API key of Acme".'),
    fields: z
      .array(credentialFieldSchema)
      .min(1)
      .max(8)
      .refine(fields => new Set(fields.map(field => field.name)).size === fields.length, {
        error: 'each name once',
      }),
    retention: z
      .enum(['once', 'lasting'])
      .default('once')
      .describe('`once`: redeem it once. `lasting`: kept, and read over the API until the user or you delete it.'),
    rejectedGeneration: z
      .int()
      .min(1)
      .optional()
      .describe('The `generation` of a lasting credential that does not work. Postern asks the user for a new one.'),
  })
  .meta({ id: 'CredentialRequest' });

export const credentialOutcomeSchema = z
  .object({
    kind: z.literal('credential'),
    name: z.string(),
    credentialId: credentialIdSchema.optional().describe('With retention `lasting`.'),
  })
  .meta({ id: 'CredentialOutcome' });

export const listCredentialsQuerySchema = z.strictObject({
  issuer: issuerSchema,
  subject: subjectIdentifierSchema,
  name: credentialNameSchema.optional(),
});

const credentialFacts = {
  credentialId: credentialIdSchema,
  name: z.string(),
  fields: z.array(z.string()),
  generation: z.int().describe('Names these values, for `rejectedGeneration`; later ones have a greater number.'),
};

export const credentialSchema = z
  .object({
    ...credentialFacts,
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime().describe('When the user entered the current values.'),
    lastUsedAt: z.iso.datetime().optional().describe('When they were last read, to the minute.'),
  })
  .meta({ id: 'Credential' });

export const credentialListSchema = z.object({ credentials: z.array(credentialSchema) }).meta({ id: 'CredentialList' });

export const readCredentialRequestSchema = z
  .strictObject({
    tool: plainText(80)
      .optional()
      .describe('The purpose of the read; shown to the user as the last use, labelled as your claim.'),
    sealed: z
      .literal(true)
      .optional()
      .describe('Deliver the values as a JWE to the encryption key registered for this MCP server.'),
  })
  .meta({ id: 'ReadCredentialRequest' });

export const credentialValuesSchema = z
  .union([
    z.object({ ...credentialFacts, values: z.record(z.string(), z.string()) }).meta({ id: 'PlainCredentialValues' }),
    z
      .object({
        ...credentialFacts,
        sealedValues: z.string().describe('A compact JWE (RFC 7516) of the JSON object of the values.'),
      })
      .meta({ id: 'SealedCredentialValues' }),
  ])
  .meta({ id: 'CredentialValues' });

export const removedCredentialSchema = z.object({ credentialId: credentialIdSchema }).meta({ id: 'RemovedCredential' });

export type CredentialRequestInput = z.input<typeof credentialRequestSchema>;
export type CredentialBody = z.infer<typeof credentialSchema>;
export type CredentialListBody = z.infer<typeof credentialListSchema>;
export type ReadCredentialRequest = z.infer<typeof readCredentialRequestSchema>;
export type CredentialValuesBody = z.infer<typeof credentialValuesSchema>;
