import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { confirmationRequestSchema, providerNameSchema, TTL_SECONDS } from '@postern/api';
import { serverNameSchema } from '@postern/api/local';
import { parse } from 'yaml';
import { z } from 'zod/v4';
import type { GuardOptions } from './guard.ts';
import { accountSchema, credentialSchema, faultsIn, headersIn, injectionsIn } from './injection-config.ts';
import { textOf } from './message.ts';
import { type Action, actions, Rules, type RulesOptions } from './rules.ts';
import { UsageError } from './short-form.ts';

const hintsSchema = z.strictObject({
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  openWorldHint: z.boolean().optional(),
});

const on = z.literal(true);

/** The terms of a confirmation, as the gateway takes them. */
const terms = confirmationRequestSchema.shape;

const confirmSchema = z.strictObject({
  title: terms.title
    .optional()
    .describe('What the person says yes to. `{name}` is replaced by the argument of that name.'),
  action: terms.action.describe('A short verb phrase for the button, such as `Delete`.'),
  danger: terms.danger
    .unwrap()
    .optional()
    .describe('Default: `destructive` if the tool says so of itself, else `caution`.'),
  ttlSeconds: z.int().min(TTL_SECONDS.min).max(TTL_SECONDS.max).optional().describe('How long the person may take.'),
});

const ruleSchema = z
  .strictObject({
    tools: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
      .optional()
      .describe('Names of tools. `*` stands for any text. Default: every tool.'),
    annotations: hintsSchema.optional().describe('Hints that the tool must have.'),
    when: z.looseObject({}).optional().describe('A JSON Schema (2020-12) that the arguments must meet.'),
    pass: on.optional().describe('The call passes unchanged.'),
    confirm: z.union([on, confirmSchema]).optional().describe('A person says yes to exactly this call first.'),
    deny: on.optional().describe('The call is refused. The tool stays visible.'),
    hide: on.optional().describe('The tool is not listed, and calls of it are refused.'),
    accounts: z
      .record(providerNameSchema, accountSchema)
      .optional()
      .describe('Access tokens that calls get, by the name of the provider at the gateway. The person connects once.'),
    credential: credentialSchema.optional().describe('A key or password that calls get. The person types it once.'),
    idempotent: on.optional().describe('A second call does no more than the first one. Needed for `rejected`.'),
  })
  .refine(rule => actionsOf(rule).length === 1, { error: 'needs exactly one of pass, confirm, deny and hide' })
  .superRefine((rule, context) => {
    for (const { path, error } of faultsIn(rule)) context.addIssue({ code: 'custom', path: [...path], message: error });
  })
  .refine(rule => rule.hide === undefined || rule.when === undefined, {
    error: 'hide: a list has no arguments, so without when',
  });

/** A rule with secrets passes calls, unless it says otherwise. */
function actionsOf(
  rule: {
    readonly [Name in Action | 'accounts' | 'credential']?: unknown;
  },
): readonly Action[] {
  const named = actions.filter(action => rule[action] !== undefined);
  const isImplied = named.length === 0 && (rule.accounts !== undefined || rule.credential !== undefined);
  return isImplied ? ['pass'] : named;
}

/** @internal */
export const upstreamSchema = z
  .strictObject({
    command: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('Program and arguments of an MCP server on stdio. It runs in the folder of this file.'),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Address of an MCP server over HTTP.'),
    headers: z
      .record(z.string().regex(/^[\w-]+$/), z.string())
      .default({})
      .describe('Of every request to `url`. `${env:NAME}` is replaced.'),
    env: z
      .union([z.array(z.string()), z.record(z.string(), z.string())])
      .default([])
      .describe(
        'Variables of the program: names to pass on, or values, in which `${env:NAME}` is replaced. Nothing else is passed on but PATH, HOME and alike.',
      ),
    rules: z.array(ruleSchema).default([]).describe('The first rule that matches decides.'),
    default: z.enum(actions).default('confirm').describe('What happens to tools that no rule names.'),
    trustAnnotations: z
      .boolean()
      .default(false)
      .describe(
        'What the server says of its tools decides: those that only read (`readOnlyHint`) pass if no rule names them, and rules may use `annotations`.',
      ),
  })
  .refine(p => (p.command === undefined) !== (p.url === undefined), { error: 'needs either command or url' })
  .refine(p => p.trustAnnotations || p.rules.every(({ annotations }) => annotations === undefined), {
    error: 'rules with annotations need trustAnnotations: true',
  })
  .superRefine(({ url, rules }, context) => {
    for (const [index, rule] of url === undefined ? rules.entries() : [])
      for (const path of headersIn(rule))
        context.addIssue({
          code: 'custom',
          path: ['rules', index, ...path],
          message: 'a server on stdio has no headers',
        });
  });

const httpSchema = z
  .strictObject({
    listen: z
      .string()
      .regex(/^(?:\[[0-9a-f:]+\]|[\w.-]+):\d{1,5}$/, 'Must be host:port')
      .default('127.0.0.1:8484'),
    auth: z
      .union([
        on,
        z.strictObject({
          resource: z.url().optional(),
          authorizationServers: z.array(z.url()).min(1).optional(),
          scopes: z.array(z.string()).optional(),
        }),
      ])
      .optional()
      .describe(
        'Every request needs an access token (OAuth). `true` takes address and issuers from the registration at the gateway. Without it, only this machine is served.',
      ),
    allowedHosts: z.array(z.string()).optional(),
    allowedOrigins: z.array(z.string()).optional(),
  })
  // Without it, they would let other machines in.
  .refine(p => p.allowedHosts === undefined || p.auth !== undefined, { error: 'allowedHosts needs auth' });

const configSchema = z.strictObject({
  http: httpSchema
    .optional()
    .describe('Serves all upstreams over HTTP, each at the path with its name. Default: one upstream, on stdio.'),
  gateway: z
    .strictObject({
      url: z.string(),
      apiKey: z.string().min(1).describe('`${env:NAME}`'),
      person: z
        .strictObject({ issuer: z.string(), subject: z.string() })
        .optional()
        .describe('Who uses this proxy. With `http.auth`, the access token says it.'),
    })
    .optional()
    .describe('Default: the gateway of the person of this machine, which starts when it is needed.'),
  upstreams: z
    .record(
      serverNameSchema
        .refine(name => name !== 'health', { error: '/health is for load balancers' })
        .refine(name => /^[\w-][\w.-]*$/.test(name), { error: 'stands in a path: letters, digits, - _ and .' }),
      upstreamSchema,
    )
    .describe('MCP servers, by the name that people read.'),
});

type UpstreamConfig = z.infer<typeof upstreamSchema>;

/** JSON Schema of the file, for editors. */
export const configJsonSchema = (): object => z.toJSONSchema(configSchema, { io: 'input' });

type Config = z.infer<typeof configSchema>;

/**
 * What a file asks for: one upstream on stdio, by its name if there are several, or all of them over HTTP.
 *
 * @throws {UsageError} that names each fault by its path
 */
export async function readFileOfProxy(path: string, wanted: string | undefined, env: NodeJS.ProcessEnv) {
  const config = readConfig(path);
  const { http, upstreams } = config;
  const gateway = gatewayOf(config, env);
  if (http !== undefined && wanted === undefined) {
    const served = Object.entries(upstreams).map(
      async ([name, one]) => [name, await targetOf(one, path, env)] as const,
    );
    return { type: 'http' as const, http, gateway, upstreams: Object.fromEntries(await Promise.all(served)) };
  }
  const names = Object.keys(upstreams);
  const name = wanted ?? (names.length === 1 ? names[0] : undefined);
  const upstream = name === undefined ? undefined : upstreams[name];
  if (name === undefined || upstream === undefined) throw new UsageError(`--upstream: one of ${names.join(', ')}`);
  const { rules, ...target } = await targetOf(upstream, path, env);
  if ('url' in target) throw new UsageError(`upstreams.${name}: url needs http`);
  return { type: 'stdio' as const, name, rules, command: target, gateway };
}

/** @throws {UsageError} */
function gatewayOf(
  { gateway, http }: Config,
  env: NodeJS.ProcessEnv,
): Pick<GuardOptions['gate'], 'url' | 'apiKey' | 'subject'> {
  const isByToken = http?.auth !== undefined;
  if (gateway === undefined) {
    if (isByToken) throw new UsageError('http.auth: needs gateway');
    return {};
  }
  if (isByToken === (gateway.person !== undefined))
    throw new UsageError(
      isByToken ? 'gateway.person: http.auth serves everybody' : 'gateway.person: who uses this proxy?',
    );
  const credentials = { url: filledIn(gateway.url, env), apiKey: filledIn(gateway.apiKey, env) };
  return gateway.person === undefined ? credentials : { ...credentials, subject: gateway.person };
}

/** @throws {UsageError} */
async function targetOf(upstream: UpstreamConfig, path: string, env: NodeJS.ProcessEnv) {
  const rules = await createRules(upstream);
  if (upstream.url !== undefined) {
    const headers = Object.entries(upstream.headers).map(([name, value]) => [name.toLowerCase(), filledIn(value, env)]);
    return { url: new URL(upstream.url), headers: Object.fromEntries(headers) as Record<string, string>, rules };
  }
  const [command = '', ...args] = upstream.command ?? [];
  const isLogRead = rules.injectsAny;
  return { command, args, env: environmentOf(upstream, env), cwd: dirname(resolve(path)), isLogRead, rules };
}

/** @throws {UsageError} */
function readConfig(path: string): z.infer<typeof configSchema> {
  let document: unknown;
  try {
    document = parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path}: ${textOf(error).split('\n', 1)[0]}`);
  }
  const parsed = configSchema.safeParse(document);
  if (!parsed.success) throw new UsageError(`${path}:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** @throws {UsageError} */
function filledIn(text: string, env: NodeJS.ProcessEnv): string {
  return text.replace(/\$\{env:([^}]*)\}/g, (_, name: string) => {
    const value = env[name]?.trim() ?? '';
    if (value === '') throw new UsageError(`The variable ${name} is not set.`);
    return value;
  });
}

/** @throws {UsageError} if a `when` is no JSON Schema @internal */
export async function createRules({ rules, default: otherwise, trustAnnotations }: UpstreamConfig): Promise<Rules> {
  const made: RulesOptions['rules'][number][] = [];
  for (const [index, rule] of rules.entries())
    made.push({
      action: actionsOf(rule)[0] ?? 'confirm',
      confirm: typeof rule.confirm === 'object' ? rule.confirm : {},
      patterns: rule.tools === undefined ? undefined : [rule.tools].flat(),
      annotations: rule.annotations ?? {},
      meets: rule.when === undefined ? undefined : await validatorOf(rule.when, index + 1),
      argumentNames: namesIn(rule.when),
      injections: injectionsIn(rule),
    });
  return new Rules({ rules: made, default: otherwise, trustAnnotations });
}

/** All names of properties that a schema mentions. */
function namesIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([keyword, value]: [string, unknown]) => [
    ...(/^(?:properties|dependentRequired|dependentSchemas)$/.test(keyword) && isRecord(value)
      ? Object.keys(value)
      : []),
    ...(keyword === 'required' && Array.isArray(value) ? value.filter(name => typeof name === 'string') : []),
    ...namesIn(value),
  ]);
}

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The library is loaded only for those who use it. */
async function validatorOf(schema: object, place: number): Promise<(args: unknown) => boolean> {
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  try {
    const meets = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    return args => meets(args) === true;
  } catch (error) {
    throw new UsageError(`rule ${place}: when is no JSON Schema: ${textOf(error)}`);
  }
}

/** What programs need to run at all: what the SDK's stdio client passes on, LANG and TMPDIR. */
const INHERITED = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'TMPDIR'];
const INHERITED_ON_WINDOWS = [
  'APPDATA',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PROCESSOR_ARCHITECTURE',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'USERNAME',
  'USERPROFILE',
  'PROGRAMFILES',
];

/** The environment of an upstream of the file. @throws {UsageError} */
function environmentOf({ env: wanted }: UpstreamConfig, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = Array.isArray(wanted)
    ? wanted.map(name => [name, filledIn(`\${env:${name}}`, env)])
    : Object.entries(wanted).map(([name, value]) => [name, filledIn(value, env)]);
  const inherited = process.platform === 'win32' ? INHERITED_ON_WINDOWS : INHERITED;
  return Object.fromEntries([
    ...inherited.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])),
    ...own,
  ]);
}
