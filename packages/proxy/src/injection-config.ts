import { authorizationRequestSchema, credentialFieldSchema, credentialNameSchema, localText } from '@postern/api';
import { z } from 'zod/v4';
import { VALUE } from './access.ts';
import type { Injection } from './injections.ts';

const textsSchema = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

/** Headers of HTTP and of MCP say other things. */
const headerSchema = z
  .string()
  .regex(/^(?!(?:accept|connection|content-.*|cookie|host|mcp-.*|te|transfer-encoding|upgrade)$)[\w-]+$/i, {
    error: 'not the name of a header for secrets',
  });

const everySecret = {
  as: z
    .union([
      z.strictObject({
        argument: z.string().min(1).describe('Of the tool. The model does not see it and must not fill it in.'),
      }),
      z.strictObject({ meta: z.string().min(1).describe('Member of `_meta`.') }),
      z.strictObject({
        header: headerSchema,
        prefix: z
          .string()
          .regex(/^[ -~]*$/)
          .optional()
          .describe('Text before the secret, such as `Bearer `.'),
      }),
    ])
    .describe('How the server gets it.'),
  rejected: textsSchema
    .optional()
    .describe(
      'Texts of tool errors that say that the secret is not valid. `*` stands for any text. The call is then repeated once with a new one. Needs `idempotent`.',
    ),
};

const { help, example, pattern } = credentialFieldSchema.shape;

export const accountSchema = z.strictObject({
  scopes: authorizationRequestSchema.shape.scopes,
  resource: authorizationRequestSchema.shape.resource,
  ...everySecret,
});

export const credentialSchema = z.strictObject({
  name: credentialNameSchema.describe('Your name for it. Rules with the same name share it.'),
  title: localText(60).describe('What the person types, such as "API key of Exa".'),
  help,
  example,
  pattern,
  ...everySecret,
});

interface RuleConfig {
  readonly accounts?: Readonly<Record<string, z.infer<typeof accountSchema>>> | undefined;
  readonly credential?: z.infer<typeof credentialSchema> | undefined;
  readonly idempotent?: true | undefined;
  readonly deny?: true | undefined;
  readonly hide?: true | undefined;
}

/** The secrets of a rule, accounts first. */
export function injectionsIn(rule: RuleConfig): readonly Injection[] {
  return partsOf(rule).map(({ name, secret, from }) => ({
    name,
    from,
    as: 'header' in secret.as ? { header: secret.as.header.toLowerCase(), prefix: secret.as.prefix ?? '' } : secret.as,
    rejected: [secret.rejected ?? []].flat(),
  }));
}

interface Part {
  readonly path: readonly string[];
  readonly name: string;
  readonly secret: Pick<z.infer<typeof accountSchema>, 'as' | 'rejected'>;
  readonly from: Injection['from'];
}

function partsOf({ accounts = {}, credential }: RuleConfig): readonly Part[] {
  const parts: Part[] = Object.entries(accounts).map(([name, { scopes, resource, ...secret }]) => ({
    path: ['accounts', name],
    name,
    secret,
    from: { type: 'account', options: { ...(scopes && { scopes }), ...(resource !== undefined && { resource }) } },
  }));
  if (credential === undefined) return parts;
  const { name, title, help, example, pattern, ...secret } = credential;
  const fields = [{ name: VALUE, label: title, help, example, pattern }];
  const request = { name, title, fields, retention: 'lasting' } as const;
  return [...parts, { path: ['credential'], name, secret, from: { type: 'credential', request } }];
}

interface Fault {
  readonly path: readonly string[];
  readonly error: string;
}

/** What is wrong with the secrets of a rule. */
export function faultsIn(rule: RuleConfig): readonly Fault[] {
  const parts = partsOf(rule);
  if (parts.length > 0 && (rule.deny ?? rule.hide) !== undefined)
    return [{ path: [], error: 'accounts and credential are for pass and confirm' }];
  const places = new Set<string>();
  return parts.flatMap(({ path, secret: { as, rejected } }) => {
    const place = JSON.stringify('header' in as ? ['header', as.header.toLowerCase()] : Object.entries(as)[0]);
    const isTaken = places.has(place);
    places.add(place);
    return [
      ...(isTaken ? [{ path: [...path, 'as'], error: 'another secret of this rule has the same place' }] : []),
      ...(rejected !== undefined && rule.idempotent === undefined
        ? [{ path: [...path, 'rejected'], error: 'needs idempotent: true' }]
        : []),
    ];
  });
}

/** Paths of the headers of a rule. */
export const headersIn = (rule: RuleConfig): readonly (readonly string[])[] =>
  partsOf(rule).flatMap(({ path, secret }) => ('header' in secret.as ? [[...path, 'as', 'header']] : []));
