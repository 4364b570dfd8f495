import * as z from 'zod';
import { isEndpointUrl, nameSchema, scopeTokenSchema } from '../config-values.ts';
import type { ProviderConfigInput } from '../provider-config.ts';

const sentenceSchema = z
  .string()
  .min(1)
  .max(300)
  .regex(/^[^\n\r]+$/, 'must be one line');

/** One line in each language of the presets. */
const wordsSchema = z.strictObject({ en: sentenceSchema, 'zh-Hans': sentenceSchema });
export type Words = z.output<typeof wordsSchema>;

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
  scopes: z.record(scopeTokenSchema, wordsSchema).describe('Completes "It would be able to …". Never a closed list'),
  provider: z.custom<PresetMembers>(
    value =>
      typeof value === 'object' && value !== null && !Object.keys(value).some(name => isOneOf(name, operatorMembers)),
    'must be members of a provider that a preset may decide',
  ),
  notes: z.array(sentenceSchema).default([]).describe('Facts for operators, and claims that could not be verified'),
});

export type Preset = z.output<typeof presetSchema>;

/** Defines a preset and validates its shape. */
export function definePreset(preset: z.input<typeof presetSchema>): Preset {
  return presetSchema.parse(preset);
}

/** Scopes in plain words, written as `scope: [English, Simplified Chinese]`. */
export function inWords(scopes: Record<string, readonly [en: string, zhHans: string]>): Record<string, Words> {
  return Object.fromEntries(Object.entries(scopes).map(([scope, [en, zhHans]]) => [scope, { en, 'zh-Hans': zhHans }]));
}

const isOneOf = (name: string, names: readonly string[]): boolean => names.includes(name);

/** Scopes of OpenID Connect Core 1.0, sections 5.4 and 11, which mean the same everywhere. */
const standard = inWords({
  openid: ['Recognise your account', '识别您的账户'],
  profile: ['See your name', '查看您的姓名'],
  email: ['See your email address', '查看您的电子邮件地址'],
  offline_access: ['Stay connected while you are away', '在您离开时保持连接'],
});

/** Returns the descriptions of the given standard scopes. */
export function standardScopes(...names: readonly ('openid' | 'profile' | 'email' | 'offline_access')[]) {
  return Object.fromEntries(Object.entries(standard).filter(([name]) => names.some(wanted => wanted === name)));
}
