import * as z from 'zod';
import {
  clientAuthenticationSchema,
  clientSecretFault,
  endpointUrlSchema,
  issuerSchema,
  localizedTextSchema,
  nameSchema,
  scopeTokenSchema,
} from './config-values.ts';

/** Parameters of the authorization request that only Postern sets. */
export const protocolParameters: ReadonlySet<string> = new Set([
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

const accountSchema = z.strictObject({
  from: z.enum(['id_token', 'userinfo']).describe('Which answer tells the connected account'),
  idClaim: z.string().min(1).max(100).default('sub').describe('Member that identifies the account and never changes'),
  nameClaim: z.string().min(1).max(100).optional().describe('Member that the user recognises the account by'),
});

/** A third-party authorization server at which Postern is registered as OAuth client. */
export const providerConfigSchema = z
  .strictObject({
    name: nameSchema.describe('Part of the redirect URI and of the API'),
    displayName: z.string().min(1).max(80),

    issuer: issuerSchema.optional().describe('Compared as a string with metadata, callbacks and ID tokens'),
    discovery: z.enum(['oidc', 'oauth2']).optional().describe('OpenID Connect Discovery or RFC 8414; default oidc'),
    authorizationEndpoint: endpointUrlSchema.optional().describe('Instead of discovery, with tokenEndpoint'),
    tokenEndpoint: endpointUrlSchema.optional(),
    userinfoEndpoint: endpointUrlSchema.optional().describe('Also where discovery does not name one'),
    jwksUri: endpointUrlSchema.optional().describe('Without discovery: keys that verify ID tokens'),

    clientId: z.string().min(1).max(500),
    clientSecret: z.string().min(1).max(2000).optional(),
    clientAuthentication: clientAuthenticationSchema
      .optional()
      .describe('Default: client_secret_basic with a clientSecret, none without'),

    baseScopes: z.array(scopeTokenSchema).max(50).default([]).describe('Always requested, e.g. openid, offline_access'),
    defaultScopes: z.array(scopeTokenSchema).max(50).default([]).describe('Requested when the MCP server names none'),
    scopes: z
      .record(scopeTokenSchema, localizedTextSchema)
      .optional()
      .describe('Scopes that may be requested, each in plain words. Absent: every scope'),
    scopeSeparator: z.enum([' ', ',']).default(' ').describe('Between scopes in the token answer; "," at GitHub'),
    resources: z
      .array(z.url().refine(value => !value.includes('#'), 'must not have a fragment'))
      .max(50)
      .default([])
      .describe('Resource indicators (RFC 8707) that may be requested'),

    authorizationParameters: z
      .record(z.string().min(1).max(100), z.string().max(1000))
      .refine(record => Object.keys(record).every(name => !protocolParameters.has(name)), 'sets a protocol parameter')
      .default({})
      .describe('Further parameters of the authorization request, e.g. access_type=offline'),
    allowMissingPkceMetadata: z
      .boolean()
      .default(false)
      .describe('Accept metadata without code_challenge_methods_supported; PKCE is sent anyway'),
    requireIss: z.boolean().default(false).describe('Refuse callbacks without iss (RFC 9207) though not advertised'),
    account: accountSchema.optional().describe('How the connected account is recognised'),
  })
  .superRefine((config, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    const explicit = config.authorizationEndpoint !== undefined || config.tokenEndpoint !== undefined;

    if (explicit) {
      if (config.authorizationEndpoint === undefined) fault('authorizationEndpoint', 'is needed with tokenEndpoint');
      if (config.tokenEndpoint === undefined) fault('tokenEndpoint', 'is needed with authorizationEndpoint');
      if (config.discovery !== undefined) fault('discovery', 'cannot be combined with explicit endpoints');
    } else {
      if (config.issuer === undefined) fault('issuer', 'is needed unless endpoints are given');
      if (config.jwksUri !== undefined) fault('jwksUri', 'comes from discovery');
    }
    if (config.requireIss && config.issuer === undefined) fault('issuer', 'is needed for requireIss');
    if (
      explicit &&
      config.account?.from === 'id_token' &&
      (config.issuer === undefined || config.jwksUri === undefined)
    ) {
      fault('account', 'from an ID token needs issuer and jwksUri, which verify it');
    }
    if (explicit && config.account?.from === 'userinfo' && config.userinfoEndpoint === undefined) {
      fault('userinfoEndpoint', 'is needed for account');
    }
    const secretFault = clientSecretFault(config);
    if (secretFault !== undefined) fault('clientSecret', secretFault);
  });

export type ProviderConfig = z.output<typeof providerConfigSchema>;
/** As the operator writes it, before defaults. */
export type ProviderConfigInput = z.input<typeof providerConfigSchema>;
