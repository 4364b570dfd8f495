import * as z from 'zod';
import { isTemplate } from './issuer.ts';
import { isLoopbackHost } from './outbound/outbound-policy.ts';

/** Whether a URL is allowed as endpoint: https, or http on loopback (development). */
export function isEndpointUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

const loopbackHost = String.raw`(?:(?:[^\s@\/?#:]+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])`;
const authority = String.raw`(?:https:\/\/[^\s@\/?#{}]+|http:\/\/${loopbackHost}(?::\d+)?)`;

/** Returns a JSON Schema pattern of endpoint URLs: an authority allowed by {@link isEndpointUrl}, then the given path. */
export const endpointUrlPattern = (path: string): string => `^${authority}(?:${path})?$`;

export const endpointUrlSchema = z
  .string()
  .max(2000)
  .refine(isEndpointUrl, 'must be an https URL without credentials and fragment (http only for loopback hosts)')
  .meta({ pattern: endpointUrlPattern(String.raw`[\/?][^#]*`) });

/** RFC 8414 section 2: no query, no fragment. Never normalised: records keep this text. */
export const issuerSchema = endpointUrlSchema
  .refine(value => !value.includes('?'), 'must not have a query')
  .meta({ pattern: endpointUrlPattern(String.raw`\/[^?#]*`) });

/** The place of the metadata: the same members for providers and identity providers. */
export const metadataMembers = () => ({
  discovery: z
    .enum(['oidc', 'oauth2'])
    .optional()
    .describe('Only OpenID Connect Discovery, or only RFC 8414. Default: both places'),
  metadataUrl: endpointUrlSchema
    .optional()
    .describe(
      'URL of the metadata, if it is not below the issuer that the metadata names, as at Entra External ID and Azure AD B2C',
    ),
  tenants: z
    .array(
      z
        .string()
        .regex(/^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, 'must be the UUID of a tenant')
        .toLowerCase(),
    )
    .min(1)
    .max(1000)
    .optional()
    .describe('Allowed tenants of an issuer with {tenantid}, by their UUIDs'),
});

/** Returns contradicting and missing members of an authorization server, by member name. */
export function metadataFaults(config: {
  readonly issuer?: string | undefined;
  readonly discovery?: string | undefined;
  readonly metadataUrl?: string | undefined;
  readonly tenants?: readonly string[] | undefined;
  readonly tokenEndpoint?: string | undefined;
  readonly clientKey?: unknown;
  readonly clientAuthentication?: string | undefined;
}): { readonly member: string; readonly message: string }[] {
  const { issuer, discovery, metadataUrl, tenants, tokenEndpoint, clientKey, clientAuthentication } = config;
  const hasTenants = issuer !== undefined && isTemplate(issuer);
  // The audience of an assertion is the issuer, and no server accepts a template.
  const asserts = clientKey !== undefined || clientAuthentication === 'client_secret_jwt';
  return [
    [metadataUrl !== undefined && issuer === undefined, 'issuer', 'is needed with metadataUrl'],
    [metadataUrl !== undefined && discovery !== undefined, 'discovery', 'cannot be combined with metadataUrl'],
    [
      metadataUrl !== undefined && tokenEndpoint !== undefined,
      'metadataUrl',
      'cannot be combined with explicit endpoints',
    ],
    [
      hasTenants && metadataUrl === undefined && tokenEndpoint === undefined,
      'metadataUrl',
      'is needed for an issuer with {tenantid}',
    ],
    [tenants !== undefined && !hasTenants, 'tenants', 'needs an issuer with {tenantid}'],
    [hasTenants && asserts, 'issuer', 'must not have {tenantid} for a client that authenticates with an assertion'],
  ].flatMap(([isFault, member, message]) =>
    isFault === true ? [{ member: String(member), message: String(message) }] : [],
  );
}

/** RFC 6749 appendix A.4. */
export const scopeTokenSchema = z
  .string()
  .max(200)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one scope, without spaces');

export const nameSchema = z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of a-z, 0-9 and -');

/** Name of a file in the folder of images. One flat folder: a name cannot lead out of it. */
export const imageNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'must be the name of a file in branding.imagesFolder, without a path');

export const logoSchema = z.strictObject({
  light: imageNameSchema.describe('A file in `branding.imagesFolder`'),
  dark: imageNameSchema.optional().describe('The variant for dark pages'),
});

/** Letters that stand for a provider, written by us: never a traced logo. */
export const markSchema = z.strictObject({
  letters: z.string().regex(/^[A-Za-z0-9]{1,2}$/, 'must be one or two letters or digits'),
  colour: z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be #rrggbb'),
});

const apiHostPattern =
  /^(?:\*\.(?:[A-Za-z0-9_-]+\.)+[A-Za-z][A-Za-z0-9-]*|[A-Za-z0-9._-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:]+\](?::[0-9]{1,5})?)$/;

/**
 * A host of an API in the form of `URL.host`, with a port unless it is 443. `*.` and a domain of at least two labels matches
 * all hosts below that domain.
 */
export const apiHostSchema = z
  .string()
  .max(260)
  .regex(apiHostPattern)
  .toLowerCase()
  .refine(
    value => URL.parse(`https://${value.replace('*.', '')}`)?.host === value.replace('*.', ''),
    'must be a host name without scheme and path, such as api.example.com or *.example.com',
  );

/** One text for all locales, or one per locale with `en` as fallback. */
export const localizedTextSchema = z.union([
  z.string().min(1).max(300),
  z
    .record(z.string().regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/), z.string().min(1).max(300))
    .refine(texts => 'en' in texts, 'must contain "en"')
    .meta({ required: ['en'] }),
]);
export type LocalizedText = z.infer<typeof localizedTextSchema>;

/**
 * The most that a scope allows, by all of the provider's documentation: a scope to write allows deletion wherever the API
 * reference lists a deletion under it. `delete`: to delete things that the user or an organisation made or keeps, such as files,
 * messages, records, bookmarks and accounts, also by moving them to a bin. Following, liking and voting only change something.
 */
export const scopeAccessSchema = z.enum(['see', 'change', 'delete']);
type ScopeAccess = z.infer<typeof scopeAccessSchema>;

/** The description of a scope for users. */
export interface ScopeDescription {
  readonly text?: LocalizedText | undefined;
  readonly access?: ScopeAccess | undefined;
}

/** A text, or an object with the text and the access. */
export const scopeDescriptionSchema = z.union([
  localizedTextSchema.transform((text): ScopeDescription => ({ text })),
  z.strictObject({ text: localizedTextSchema.optional(), access: scopeAccessSchema.optional() }),
]);

/**
 * The canonical URI of an MCP server (MCP authorization, "Canonical Server URI"; RFC 8707 section 2). It is sent unchanged, and
 * only the slash of an empty path may differ in the server's metadata. So it must equal the output of a URL parser, except for
 * that slash.
 */
export const mcpResourceSchema = endpointUrlSchema.refine(value => {
  const href = URL.parse(value)?.href;
  return value === href || `${value}/` === href;
}, 'must be the canonical form, e.g. with its host in lower case');

/** Parameters of the authorization request that only Postern sets. */
export const protocolParameters: ReadonlySet<string> = new Set([
  'client_assertion',
  'client_assertion_type',
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'dpop_jkt',
  'login_hint',
  'nonce',
  'redirect_uri',
  'request',
  'request_uri',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);

/** Parameters of authorization responses, which have a meaning of their own. */
export const callbackParameters: ReadonlySet<string> = new Set([
  'access_token',
  'code',
  'error',
  'error_description',
  'error_uri',
  'expires_in',
  'id_token',
  'iss',
  'refresh_token',
  'response',
  'scope',
  'session_state',
  'state',
  'token',
  'token_type',
]);

/** Parameters of token requests that only Postern sets. */
export const tokenProtocolParameters: ReadonlySet<string> = new Set([
  'client_assertion',
  'client_assertion_type',
  'client_id',
  'client_secret',
  'code',
  'code_verifier',
  'device_code',
  'grant_type',
  'redirect_uri',
  'refresh_token',
  'resource',
]);

/** The authorization endpoint. A `redirect_uri` in its URL, for example, would compete with ours. */
export const authorizationEndpointSchema = endpointUrlSchema
  .refine(
    value => [...(URL.parse(value)?.searchParams.keys() ?? [])].every(name => !protocolParameters.has(name)),
    'must not have a protocol parameter in its query',
  )
  .meta({
    pattern: endpointUrlPattern(String.raw`[\/?][^#]*`),
    not: { pattern: `[?&](${[...protocolParameters].join('|')})(=|&|$)` },
  });
