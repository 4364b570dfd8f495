import * as z from 'zod';
import {
  clientAuthenticationOf,
  clientAuthenticationSchema,
  clientCredentialFaults,
  clientKeySchema,
} from './client-authentication.ts';
import {
  apiHostSchema,
  authorizationEndpointSchema,
  callbackParameters,
  endpointUrlPattern,
  endpointUrlSchema,
  isEndpointUrl,
  issuerSchema,
  logoSchema,
  markSchema,
  mcpResourceSchema,
  metadataFaults,
  metadataMembers,
  nameSchema,
  protocolParameters,
  scopeDescriptionSchema,
  scopeTokenSchema,
  tokenProtocolParameters,
} from './config-values.ts';
import { isTemplate } from './issuer.ts';
import { revocationRules } from './json-schema-rules.ts';

/** Member names joined by dots: `authed_user.access_token`. */
const memberPathSchema = z
  .string()
  .max(200)
  .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'must be member names joined by dots');

/** Ten years. A longer lifetime is no lifetime. */
export const maxLifetimeSeconds = 315_360_000;

const scalarSchema = z.union([z.string().max(200), z.number(), z.boolean(), z.null()]);

/** A member whose value marks a successful response. */
const successSchema = z.strictObject({ member: memberPathSchema, equals: scalarSchema });

const oauthErrorCodeSchema = z
  .string()
  .max(100)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be an error code');

/** How token responses of a provider differ from RFC 6749 section 5. Responses are first mapped and then validated. */
export const tokenResponseConfigSchema = z.strictObject({
  format: z.enum(['json', 'form', 'auto']).default('auto').describe('auto: by the content type'),
  members: z
    .strictObject({
      accessToken: memberPathSchema.optional(),
      tokenType: memberPathSchema.optional(),
      expiresIn: memberPathSchema.optional(),
      refreshToken: memberPathSchema.optional(),
      scope: memberPathSchema.optional(),
      idToken: memberPathSchema.optional(),
    })
    .default({})
    .describe('Path of a member in the response, e.g. accessToken: authed_user.access_token'),
  tokenType: z
    .literal('bearer')
    .optional()
    .describe('Token type, regardless of token_type in the response; not with DPoP'),
  lifetimeSeconds: z.int().min(1).max(maxLifetimeSeconds).optional().describe('Lifetime if the response names none'),
  success: successSchema.optional().describe('With any other value, or without the member, a 200 is an error'),
  errorMember: memberPathSchema
    .default('error')
    .describe('Path of the error code, also in a 200. The member error is always read too'),
  refusedErrors: z
    .array(oauthErrorCodeSchema)
    .max(50)
    .default([])
    .describe('Error codes, besides invalid_grant, for a refresh token that is no longer accepted'),
});

export type TokenResponseConfig = z.output<typeof tokenResponseConfigSchema>;

/** Placeholder of the client id in a path, as in `https://api.example/applications/{clientId}/grant`. */
export const clientIdPlaceholder = '{clientId}';

const revocationEndpointSchema = z
  .string()
  .max(2000)
  .refine(
    value => isEndpointUrl(value.replaceAll(clientIdPlaceholder, 'client')),
    'must be an https URL without credentials and fragment (http only for loopback hosts)',
  )
  // In a host name, the client id would choose the host of the request.
  .refine(
    value => !/^[a-z]+:\/\/[^/]*[{}]/i.test(value) && !/[{}]/.test(value.replaceAll(clientIdPlaceholder, '')),
    'may contain {clientId} in its path, and no other placeholder',
  )
  .meta({ pattern: endpointUrlPattern(String.raw`[\/?](?:[^#{}]|\{clientId\})*`) });

/** How the gateway revokes a grant at a provider. */
export const revocationConfigSchema = z
  .strictObject({
    endpoint: revocationEndpointSchema.optional().describe('Default: revocation_endpoint of the metadata'),
    style: z
      .enum(['rfc7009', 'bearer', 'custom'])
      .default('rfc7009')
      .describe('bearer: a POST with the access token as authorization; custom: as configured by the members below'),
    token: z
      .enum(['refresh_token', 'access_token'])
      .optional()
      .describe(
        'Sends only this token. By default, style rfc7009 with reach token sends the refresh token and then the access token, ' +
          'and everything else only the refresh token. Without a refresh token, the access token is sent',
      ),
    reach: z
      .enum(['token', 'connection', 'grant'])
      .default('token')
      .describe(
        'What one request revokes. token: at least the sent token; connection: the access token and the refresh token ' +
          'together; grant: everything that the user ever granted to this client',
      ),
    method: z.enum(['POST', 'DELETE', 'GET']).optional().describe('Default POST'),
    body: z.enum(['form', 'json', 'none']).optional().describe('Default form'),
    parameter: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe('Name of the member for the token in the body; default token'),
    authentication: z
      .enum(['client', 'basic', 'bearer', 'none'])
      .optional()
      .describe(
        'client: as at the token endpoint; basic: always clientId and clientSecret by HTTP Basic; ' +
          'bearer: the access token; none: no authentication. Default client',
      ),
    success: successSchema.optional().describe('With any other value, or without the member, a 2xx is an error'),
    unknownTokenErrors: z
      .array(oauthErrorCodeSchema)
      .max(50)
      .default([])
      .describe('Error codes that mean that the provider no longer knows the token'),
    unknownTokenStatuses: z
      .array(z.int().min(400).max(499))
      .max(10)
      .default([])
      .describe('Status codes that mean that the provider no longer knows the token, e.g. 404'),
  })
  .superRefine((config, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (config.style !== 'custom') {
      for (const name of ['method', 'body', 'parameter', 'authentication', 'success'] as const)
        if (config[name] !== undefined) fault(name, 'is only for style custom');
      return;
    }
    if (config.endpoint === undefined) fault('endpoint', 'is needed for style custom');
    if (config.body === 'none' && config.authentication !== 'bearer')
      fault('body', 'must contain the token unless authentication is bearer');
    if (config.method === 'GET' && config.body !== 'none') fault('body', 'must be none with GET');
  })
  .meta({ allOf: revocationRules });

export type RevocationConfig = z.output<typeof revocationConfigSchema>;

/** Matches what `z.httpUrl` accepts, except for unusual notations. */
const httpUrlPattern = String.raw`^https?:\/\/(?:[^\s@\/?#]*@)?(?:[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?\.)+[a-zA-Z]{2,}(?::\d+)?(?:[\/?#].*)?$`;

const accountSchema = z.strictObject({
  from: z
    .enum(['id_token', 'userinfo', 'token_response'])
    .describe('The response that identifies the connected account'),
  idClaim: z
    .string()
    .min(1)
    .max(100)
    .default('sub')
    .describe('Member that identifies the account and never changes. May be a dotted path: data.id'),
  nameClaim: z.string().min(1).max(100).optional().describe('Member by which the user recognises the account'),
});

const scopesSchema = z.array(scopeTokenSchema).max(50).default([]);

/** Additional parameters of a request, except those that Postern sets itself. */
const parametersSchema = (ours: ReadonlySet<string>) =>
  z
    .record(z.string().min(1).max(100), z.string().max(1000))
    .refine(record => Object.keys(record).every(name => !ours.has(name)), 'sets a protocol parameter')
    .meta({ propertyNames: { type: 'string', minLength: 1, maxLength: 100, not: { enum: [...ours] } } })
    .default({});

const members = z.strictObject({
  name: nameSchema.describe('Name in the redirect URI and in the API'),
  displayName: z.string().min(1).max(80),
  mark: markSchema
    .optional()
    .describe('Letters and colour that stand for the provider on pages. Default: from its name'),
  logo: logoSchema.optional().describe('A square image of the provider, instead of the letters'),
  preset: nameSchema.optional().describe('Well-known provider whose settings apply unless they are set here'),
  presetValues: z
    .record(z.string().min(1).max(40), z.string().min(1).max(500))
    .optional()
    .describe('Values that the preset requires, e.g. domain: acme.okta.com'),
  documentation: z
    .httpUrl()
    .max(2000)
    .meta({ pattern: httpUrlPattern })
    .optional()
    .describe("The provider's own documentation"),
  flow: z
    .enum(['redirect', 'device'])
    .default('redirect')
    .describe('device: RFC 8628, for providers that cannot redirect to the gateway'),

  mcpResource: mcpResourceSchema
    .optional()
    .describe(
      'A remote MCP server that uses this provider as authorization server (RFC 9728); issuer and clientId are then optional',
    ),
  issuer: issuerSchema.optional().describe('As the metadata names it. Only the slash of an empty path may differ'),
  ...metadataMembers(),
  authorizationEndpoint: authorizationEndpointSchema.optional().describe('Instead of discovery, with tokenEndpoint'),
  tokenEndpoint: endpointUrlSchema.optional(),
  deviceAuthorizationEndpoint: endpointUrlSchema.optional().describe('Set it if discovery does not find it'),
  pushedAuthorizationEndpoint: endpointUrlSchema.optional().describe('Set it if discovery does not find it'),
  userinfoEndpoint: endpointUrlSchema.optional().describe('Set it if discovery does not find it'),
  jwksUri: endpointUrlSchema.optional().describe('Keys that verify ID tokens; only without discovery'),

  clientId: z.string().min(1).max(2000).optional().describe('Optional only with mcpResource'),
  clientSecret: z.string().min(1).max(2000).optional(),
  clientKey: clientKeySchema.optional().describe('Private JWK as JSON, for private_key_jwt'),
  clientAuthentication: clientAuthenticationSchema
    .optional()
    .describe('Default: client_secret_basic with a clientSecret, private_key_jwt with a clientKey, otherwise none'),

  baseScopes: scopesSchema.describe('Always requested, e.g. openid, offline_access'),
  defaultScopes: scopesSchema.describe('Requested if the MCP server names none'),
  scopes: z
    .record(scopeTokenSchema, scopeDescriptionSchema)
    .optional()
    .describe('Scopes that may be requested, with descriptions for users. If absent, every scope may be requested'),
  scopeDescriptions: z
    .record(scopeTokenSchema, scopeDescriptionSchema)
    .default({})
    .describe(
      'Descriptions for users of scopes that scopes does not describe: a text, or { text, access } with access see, change or ' +
        'delete, the most that the scope allows; restricts nothing',
    ),
  scopeImplies: z
    .record(scopeTokenSchema, z.array(scopeTokenSchema).max(100))
    .default({})
    .describe('Scopes that a scope includes, e.g. user: [read:user], or other names of the scope'),
  scopeSpelling: z
    .strictObject({
      prefixes: z
        .array(scopeTokenSchema.regex(/\/$/, 'must end in "/"'))
        .max(10)
        .default([])
        .describe('A scope with one of these prefixes is the scope without it: https://graph.microsoft.com/'),
      ignoreCase: z.boolean().default(false).describe('Whether mail.read is Mail.Read'),
    })
    .prefault({})
    .describe('Which spellings of a scope mean the same. All others are different scopes'),
  unreportedScopes: z
    .array(scopeTokenSchema.regex(/^(?!\*$)/, 'must name the end of a scope'))
    .max(50)
    .default([])
    .describe(
      'Granted scopes that responses never name, such as openid and offline_access. A leading * stands for any text: */.default',
    ),
  incrementalScopes: z
    .boolean()
    .default(false)
    .describe('Whether the provider adds new scopes to those granted before'),
  scopeParameter: z
    .string()
    .regex(/^[a-z_]{1,40}$/)
    .refine(name => name === 'scope' || !protocolParameters.has(name), 'is another protocol parameter')
    .meta({ not: { enum: [...protocolParameters].filter(name => name !== 'scope') } })
    .default('scope')
    .describe('Parameter for scopes in requests, e.g. user_scope if scope means those of a bot'),
  requestScopeSeparator: z.enum([' ', ',']).default(' ').describe('Separates scopes in requests'),
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
  apiHosts: z
    .array(apiHostSchema)
    .max(50)
    .optional()
    .describe(
      "Hosts of the provider's API, e.g. api.example.com or *.example.com: `fetch` of @postern/mcp sends access tokens only " +
        'to these hosts. Default: those of the preset, or the host of mcpResource; without both, any host',
    ),

  authorizationParameters: parametersSchema(protocolParameters).describe(
    'Additional parameters of the authorization request, e.g. access_type=offline',
  ),
  tokenParameters: parametersSchema(tokenProtocolParameters).describe('Additional parameters of token requests'),
  refresh: z
    .strictObject({
      endpoint: endpointUrlSchema.optional().describe('Default: tokenEndpoint'),
      parameters: parametersSchema(tokenProtocolParameters).describe('In addition to tokenParameters'),
      tokenResponse: tokenResponseConfigSchema.optional().describe('Default: tokenResponse of the provider'),
      rotates: z
        .boolean()
        .optional()
        .describe('Whether a refresh ends the refresh token that it uses. Default: what the last refresh has shown'),
    })
    .optional()
    .describe('Differences of the refresh request'),
  tokenResponse: tokenResponseConfigSchema.optional().describe('How token responses differ from RFC 6749'),
  revocation: revocationConfigSchema.optional().describe('Default: RFC 7009 if the metadata offers it'),

  pushedAuthorization: z
    .enum(['auto', 'required', 'off'])
    .default('auto')
    .describe('PAR (RFC 9126): if offered, always, or never unless the provider requires it'),
  dpop: z
    .enum(['off', 'required'])
    .default('off')
    .describe('RFC 9449. A tool must then send a proof with every request to the API'),
  pkce: z
    .enum(['required', 'unsupported'])
    .default('required')
    .describe(
      'unsupported: the provider rejects requests with a code challenge; needs explicit endpoints and a client that authenticates',
    ),
  allowMissingPkceMetadata: z
    .boolean()
    .default(false)
    .describe('Accept metadata without code_challenge_methods_supported; PKCE is sent anyway'),
  requireIss: z
    .boolean()
    .default(false)
    .describe('Refuse callbacks without iss (RFC 9207) even if the metadata does not advertise it'),
  account: accountSchema.optional().describe('How to identify the connected account'),
  callbackMembers: z
    .array(
      z
        .string()
        .regex(/^[A-Za-z][A-Za-z0-9_-]{0,39}$/, 'must be a parameter name')
        .refine(name => !callbackParameters.has(name), 'is a protocol parameter')
        .meta({ not: { enum: [...callbackParameters] } }),
    )
    .max(10)
    .default([])
    .describe(
      'Additional parameters of the callback that are kept with the connection for the MCP server, such as realmId of QuickBooks. ' +
        'The browser delivers them: the provider does not vouch for them',
    ),
});

export type ProviderConfig = z.output<typeof members>;
/** The operator's configuration, before defaults. */
export type ProviderConfigInput = z.input<typeof members>;

/** The configuration of a provider, after its preset is expanded. */
export const providerMembers = members.superRefine((config, context) => {
  for (const { member, message } of providerConfigFaults(config))
    context.addIssue({ code: 'custom', path: [member], message });
});

interface MemberFault {
  readonly member: string;
  readonly message: string;
}

/** Returns contradicting and missing members, by member name. */
function providerConfigFaults(config: ProviderConfig): MemberFault[] {
  const unregistered = config.clientId === undefined;
  return [
    ...endpointFaults(config),
    ...metadataFaults(config),
    ...(unregistered ? unregisteredFaults(config) : clientCredentialFaults(config)),
    ...proofFaults(config),
  ];
}

function endpointFaults(config: ProviderConfig): MemberFault[] {
  const faults: MemberFault[] = [];
  const fault = (member: keyof ProviderConfig, message: string) => faults.push({ member, message });
  const { authorizationEndpoint, tokenEndpoint, deviceAuthorizationEndpoint, issuer, jwksUri, account } = config;
  const explicit = authorizationEndpoint !== undefined || tokenEndpoint !== undefined;
  const redirect = config.flow === 'redirect';

  if (explicit) {
    if (redirect && authorizationEndpoint === undefined) fault('authorizationEndpoint', 'is needed with tokenEndpoint');
    if (tokenEndpoint === undefined) fault('tokenEndpoint', 'is needed with authorizationEndpoint');
    if (!redirect && deviceAuthorizationEndpoint === undefined)
      fault('deviceAuthorizationEndpoint', 'is needed with tokenEndpoint');
    if (config.discovery !== undefined) fault('discovery', 'cannot be combined with explicit endpoints');
    if (config.mcpResource !== undefined) fault('mcpResource', 'cannot be combined with explicit endpoints');
    if (account?.from === 'id_token' && (issuer === undefined || jwksUri === undefined))
      fault('account', 'from an ID token needs issuer and jwksUri, which verify it');
    if (account?.from === 'userinfo' && config.userinfoEndpoint === undefined)
      fault('userinfoEndpoint', 'is needed for account');
    if (config.pushedAuthorization === 'required' && config.pushedAuthorizationEndpoint === undefined)
      fault('pushedAuthorizationEndpoint', 'is needed for pushedAuthorization required');
  } else {
    if (issuer === undefined && config.mcpResource === undefined)
      fault('issuer', 'is needed unless endpoints are given');
    if (jwksUri !== undefined) fault('jwksUri', 'comes from discovery');
  }
  if (account?.from === 'id_token' && issuer !== undefined && isTemplate(issuer) && config.tenants === undefined)
    fault('tenants', 'is needed for account from an ID token');
  if (config.pushedAuthorization === 'off' && config.pushedAuthorizationEndpoint !== undefined)
    fault('pushedAuthorizationEndpoint', 'has no effect with pushedAuthorization off');
  if (!redirect && config.callbackMembers.length > 0) fault('callbackMembers', 'need a redirect: no browser returns');
  if (config.requireIss && issuer === undefined && config.mcpResource === undefined)
    fault('issuer', 'is needed for requireIss');
  // Otherwise the remote MCP server would decide which server receives the client secret.
  if (config.mcpResource !== undefined && config.clientId !== undefined && issuer === undefined)
    fault('issuer', 'is needed for clientId: a client is registered at one issuer');
  return faults;
}

/**
 * Without a client id, Postern registers itself, and configured credentials are a mistake. A key is allowed, because Postern
 * publishes it and registers with it.
 */
function unregisteredFaults(config: ProviderConfig): MemberFault[] {
  if (config.mcpResource === undefined) return [{ member: 'clientId', message: 'is needed' }];
  return (['clientSecret', 'clientAuthentication'] as const)
    .filter(member => config[member] !== undefined)
    .map(member => ({ member, message: 'needs clientId' }));
}

function proofFaults(config: ProviderConfig): MemberFault[] {
  const faults: MemberFault[] = [];
  // The audience of an assertion must be the issuer, otherwise the assertion is valid at another server.
  const method = config.clientAuthentication ?? (config.clientKey === undefined ? undefined : 'private_key_jwt');
  const asserts = method === 'private_key_jwt' || method === 'client_secret_jwt';
  if (asserts && config.issuer === undefined && config.mcpResource === undefined)
    faults.push({ member: 'issuer', message: `is needed for clientAuthentication ${method}` });
  if (config.revocation?.authentication === 'basic' && config.clientSecret === undefined)
    faults.push({ member: 'revocation', message: 'by HTTP Basic needs a clientSecret' });
  // Without client authentication, only PKCE protects a stolen code (RFC 7636 section 1).
  if (config.pkce === 'unsupported' && clientAuthenticationOf(config) === 'none')
    faults.push({ member: 'pkce', message: 'cannot be unsupported for a client that does not authenticate' });
  // Metadata states PKCE support, and a client that registers itself may end up without authentication.
  if (config.pkce === 'unsupported' && config.tokenEndpoint === undefined)
    faults.push({ member: 'pkce', message: 'can be unsupported only with explicit endpoints' });
  for (const [member, answers] of [
    ['tokenResponse', config.tokenResponse],
    ['refresh', config.refresh?.tokenResponse],
  ] as const) {
    if (config.dpop === 'required' && answers?.tokenType !== undefined)
      faults.push({ member, message: 'cannot set the token type bearer with dpop required' });
  }
  return faults;
}
