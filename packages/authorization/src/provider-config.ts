import * as z from 'zod';
import { clientAuthenticationSchema } from './client-authentication-config.ts';
import { clientKeySchema } from './client-key.ts';
import { endpointUrlSchema, issuerSchema, localizedTextSchema, nameSchema, scopeTokenSchema } from './config-values.ts';
import { expandPreset } from './presets/expand-preset.ts';
import { protocolParameters, tokenProtocolParameters } from './protocol-parameters.ts';
import { providerConfigFaults } from './provider-config-faults.ts';
import { mcpResourceSchema } from './registration/mcp-resource-schema.ts';
import { revocationConfigSchema } from './revocation-config.ts';
import { tokenResponseConfigSchema } from './token-response-config.ts';

/** What `z.httpUrl` accepts, but for spellings that no document has. */
const httpUrlPattern = String.raw`^https?:\/\/(?:[^\s@\/?#]*@)?(?:[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?\.)+[a-zA-Z]{2,}(?::\d+)?(?:[\/?#].*)?$`;

const accountSchema = z.strictObject({
  from: z.enum(['id_token', 'userinfo', 'token_response']).describe('Which answer tells the connected account'),
  idClaim: z
    .string()
    .min(1)
    .max(100)
    .default('sub')
    .describe('Member that identifies the account and never changes, perhaps as a dotted path: data.id'),
  nameClaim: z.string().min(1).max(100).optional().describe('Member that the user recognises the account by'),
});

const separatorSchema = z.enum([' ', ',']).default(' ');
const scopesSchema = z.array(scopeTokenSchema).max(50).default([]);

/** Further parameters of a request, none of which Postern sets itself. */
const parametersSchema = (ours: ReadonlySet<string>) =>
  z
    .record(z.string().min(1).max(100), z.string().max(1000))
    .refine(record => Object.keys(record).every(name => !ours.has(name)), 'sets a protocol parameter')
    .meta({ propertyNames: { type: 'string', minLength: 1, maxLength: 100, not: { enum: [...ours] } } })
    .default({});

const providerMembers = z
  .strictObject({
    name: nameSchema.describe('Part of the redirect URI and of the API'),
    displayName: z.string().min(1).max(80),
    preset: nameSchema.optional().describe('Well-known provider whose settings are used where none are given here'),
    presetValues: z
      .record(z.string().min(1).max(40), z.string().min(1).max(500))
      .optional()
      .describe('What the preset leaves open, e.g. domain: acme.okta.com'),
    documentation: z
      .httpUrl()
      .max(2000)
      .meta({ pattern: httpUrlPattern })
      .optional()
      .describe("The provider's own documentation"),
    flow: z.enum(['redirect', 'device']).default('redirect').describe('device: RFC 8628, where there is no redirect'),

    mcpResource: mcpResourceSchema
      .optional()
      .describe(
        'A remote MCP server whose authorization server this is (RFC 9728); issuer and clientId may be left out',
      ),
    issuer: issuerSchema.optional().describe('Compared as a string with metadata, callbacks and ID tokens'),
    discovery: z.enum(['oidc', 'oauth2']).optional().describe('OpenID Connect Discovery or RFC 8414; default oidc'),
    authorizationEndpoint: endpointUrlSchema.optional().describe('Instead of discovery, with tokenEndpoint'),
    tokenEndpoint: endpointUrlSchema.optional(),
    deviceAuthorizationEndpoint: endpointUrlSchema.optional().describe('Also where discovery does not name one'),
    pushedAuthorizationEndpoint: endpointUrlSchema.optional().describe('Also where discovery does not name one'),
    userinfoEndpoint: endpointUrlSchema.optional().describe('Also where discovery does not name one'),
    jwksUri: endpointUrlSchema.optional().describe('Without discovery: keys that verify ID tokens'),

    clientId: z.string().min(1).max(2000).optional().describe('May be left out only with mcpResource'),
    clientSecret: z.string().min(1).max(2000).optional(),
    clientKey: clientKeySchema.optional().describe('Private JWK as JSON, for private_key_jwt'),
    clientAuthentication: clientAuthenticationSchema
      .optional()
      .describe('Default: client_secret_basic with a clientSecret, private_key_jwt with a clientKey, otherwise none'),

    baseScopes: scopesSchema.describe('Always requested, e.g. openid, offline_access'),
    defaultScopes: scopesSchema.describe('Requested when the MCP server names none'),
    scopes: z
      .record(scopeTokenSchema, localizedTextSchema)
      .optional()
      .describe('Scopes that may be requested, each in plain words. Absent: every scope'),
    scopeDescriptions: z
      .record(scopeTokenSchema, localizedTextSchema)
      .default({})
      .describe('Plain words for scopes that the list above does not describe; restricts nothing'),
    scopeImplies: z
      .record(scopeTokenSchema, z.array(scopeTokenSchema).max(100))
      .default({})
      .describe('Granted with a scope, e.g. user: [read:user], or another name of it'),
    unreportedScopes: scopesSchema.describe('Never named in answers though granted, as openid and offline_access are'),
    incrementalScopes: z.boolean().default(false).describe('The provider adds new scopes to those granted before'),
    scopeSeparator: separatorSchema.describe('Between scopes in the token answer; "," at GitHub'),
    scopeParameter: z
      .string()
      .regex(/^[a-z_]{1,40}$/)
      .refine(name => name === 'scope' || !protocolParameters.has(name), 'is another protocol parameter')
      .meta({ not: { enum: [...protocolParameters].filter(name => name !== 'scope') } })
      .default('scope')
      .describe('Carries the scopes in requests; user_scope where scope means those of a bot'),
    requestScopeSeparator: separatorSchema.describe('Between scopes in requests'),
    resources: z
      .array(
        z
          .url()
          .refine(value => !value.includes('#'), 'must not have a fragment')
          .meta({ pattern: '^[A-Za-z][A-Za-z0-9+.-]*:[^#]+$' }),
      )
      .max(50)
      .default([])
      .describe('Resource indicators (RFC 8707) that may be requested'),

    authorizationParameters: parametersSchema(protocolParameters).describe(
      'Further parameters of the authorization request, e.g. access_type=offline',
    ),
    tokenParameters: parametersSchema(tokenProtocolParameters).describe('Further parameters of token requests'),
    refresh: z
      .strictObject({
        endpoint: endpointUrlSchema.optional().describe('Default: tokenEndpoint'),
        parameters: parametersSchema(tokenProtocolParameters).describe('Beside tokenParameters'),
        tokenResponse: tokenResponseConfigSchema.optional().describe('Default: that of the provider'),
      })
      .optional()
      .describe('Where refreshing differs'),
    tokenResponse: tokenResponseConfigSchema.optional().describe('How token answers differ from RFC 6749'),
    revocation: revocationConfigSchema.optional().describe('Default: RFC 7009 where the metadata offers it'),

    pushedAuthorization: z
      .enum(['auto', 'required', 'off'])
      .default('auto')
      .describe('PAR (RFC 9126): where it is offered, always, or never'),
    dpop: z
      .enum(['off', 'required'])
      .default('off')
      .describe('RFC 9449. A tool must then send a proof with every request to the API'),
    pkce: z
      .enum(['required', 'unsupported'])
      .default('required')
      .describe(
        'unsupported: the provider fails requests with a code challenge; needs explicit endpoints and a client that authenticates',
      ),
    allowMissingPkceMetadata: z
      .boolean()
      .default(false)
      .describe('Accept metadata without code_challenge_methods_supported; PKCE is sent anyway'),
    requireIss: z.boolean().default(false).describe('Refuse callbacks without iss (RFC 9207) though not advertised'),
    account: accountSchema.optional().describe('How the connected account is recognised'),
  })
  .superRefine((config, context) => {
    for (const { member, message } of providerConfigFaults(config))
      context.addIssue({ code: 'custom', path: [member], message });
  });

/**
 * A third-party authorization server at which Postern is registered as OAuth client. Presets are expanded before anything is
 * validated, so that what they bring meets the same rules.
 */
export const providerConfigSchema = z.preprocess(expandPreset, providerMembers);

export type ProviderConfig = z.output<typeof providerConfigSchema>;
/** As the operator writes it, before defaults. */
export type ProviderConfigInput = z.input<typeof providerMembers>;
