import * as z from 'zod';
import { isEndpointUrl, markSchema, nameSchema, scopeAccessSchema, scopeTokenSchema } from '../config-values.ts';
import type { ProviderConfigInput } from '../provider-config.ts';

const sentenceSchema = z
  .string()
  .min(1)
  .max(300)
  .regex(/^[^\n\r]+$/, 'must be one line');

const helpSchema = sentenceSchema.describe('Tells the operator what to enter');

/**
 * A value that the operator fills in. Each kind is too narrow to smuggle in a path, a query, credentials or another host.
 */
const placeholderSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('host').describe('A DNS name, with a port if `port` allows one'),
      help: helpSchema,
      example: z.string(),
      fallback: z.string().optional().describe('Used if the operator sets no value'),
      within: z.array(z.string()).min(1).optional().describe('Domains that the host must belong to'),
      port: z.boolean().default(false),
    }),
    z.strictObject({
      kind: z.literal('slug').describe('One label of a host name or one segment of a path'),
      help: helpSchema,
      example: z.string(),
      fallback: z.string().optional(),
    }),
    z.strictObject({ kind: z.literal('uuid'), help: helpSchema, example: z.string() }),
    z.strictObject({
      kind: z.literal('choice'),
      help: helpSchema,
      example: z.string(),
      fallback: z.string().optional(),
      choices: z.array(z.string().regex(/^[A-Za-z0-9.-]+$/)).min(2),
    }),
  ])
  .readonly();
export type Placeholder = z.output<typeof placeholderSchema>;

/** Members that belong to one registration or deployment, which no preset may set. */
type OperatorMember =
  | 'name'
  | 'displayName'
  | 'mark'
  | 'logo'
  | 'preset'
  | 'presetValues'
  | 'clientId'
  | 'clientSecret'
  | 'clientKey'
  | 'scopes'
  | 'scopeDescriptions'
  | 'documentation'
  | 'mcpResource'
  | 'pkce';

/** The provider configuration of a preset. Its strings may contain `{placeholder}`. */
export type PresetMembers = Omit<ProviderConfigInput, OperatorMember>;

const operatorMembers: readonly OperatorMember[] = [
  'name',
  'displayName',
  'mark',
  'logo',
  'preset',
  'presetValues',
  'clientId',
  'clientSecret',
  'clientKey',
  'scopes',
  'scopeDescriptions',
  'documentation',
  'mcpResource',
  'pkce',
];

const placeholderNameSchema = z.string().regex(/^[a-z][A-Za-z]{0,39}$/);

/** The shape of a preset. Its `provider` is validated by `providerConfigSchema` after it has been expanded. */
export const presetSchema = z.strictObject({
  name: nameSchema,
  displayName: z.string().min(1).max(80),
  mark: markSchema.describe("Own letters on the provider's colour. Never a traced logo: logos are trademarks"),
  documentation: z
    .string()
    .refine(value => isEndpointUrl(value), 'must be an https URL')
    .describe("The provider's own description of its OAuth"),
  /**
   * Whether the provider says that it checks S256 challenges. `documented`: it does. `undocumented`: a challenge is sent
   * and accepted, but the provider does not promise to check it. `unsupported`: requests that carry one fail.
   */
  pkce: z.enum(['documented', 'undocumented', 'unsupported']),
  placeholders: z.record(placeholderNameSchema, placeholderSchema).default({}),
  scopes: z
    .record(scopeTokenSchema, scopeAccessSchema)
    .describe('The most that each scope allows. Never a closed list. The texts are in packages/pages/src/languages'),
  scopeDocumentation: z
    .string()
    .refine(value => isEndpointUrl(value), 'must be an https URL')
    .optional()
    .describe("The provider's own list of its scopes, from which `scopes` comes, together with its API reference"),
  provider: z.custom<PresetMembers>(
    value =>
      typeof value === 'object' && value !== null && !Object.keys(value).some(name => isOneOf(name, operatorMembers)),
    'must be members of a provider that a preset may decide',
  ),
  notes: z.array(sentenceSchema).default([]).describe('Facts for operators, and claims that could not be verified'),
});

export type Preset = z.output<typeof presetSchema>;
export type PresetScopes = Preset['scopes'];

/** Defines a preset and validates its shape. */
export function definePreset(preset: z.input<typeof presetSchema>): Preset {
  return presetSchema.parse(preset);
}

const isOneOf = (name: string, names: readonly string[]): boolean => names.includes(name);

/** Scopes that mean the same everywhere (OpenID Connect Core 1.0 sections 5.4 and 11). */
export type StandardScope = 'openid' | 'profile' | 'email' | 'offline_access';

/** Returns the access of the given standard scopes. None of them changes anything. */
export function standardScopes(...names: readonly StandardScope[]): PresetScopes {
  return Object.fromEntries(names.map(name => [name, 'see']));
}
