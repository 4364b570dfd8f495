import { generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { protocolParameters, tokenProtocolParameters } from './config-values.ts';
import { identityProviderConfigSchema } from './identity-provider-config.ts';
import { providerConfigSchema } from './presets/expand-preset.ts';

const discovered = { name: 'tracker', displayName: 'Tracker', issuer: 'https://as.example', clientId: 'postern' };
const explicit = {
  name: 'tracker',
  displayName: 'Tracker',
  clientId: 'postern',
  authorizationEndpoint: 'https://as.example/authorize',
  tokenEndpoint: 'https://as.example/token',
};

const metadataUrl = 'https://as.example/organizations/v2.0/.well-known/openid-configuration';
const multiTenant = {
  ...discovered,
  issuer: 'https://as.example/{tenantid}/v2.0',
  metadataUrl,
  tenants: ['11111111-2222-4333-8444-555555555555'],
};
const mcpResource = 'https://remote.example/mcp';
const hmac = { clientAuthentication: 'client_secret_jwt' };
const clientKey = JSON.stringify(
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
);

/** Returns the paths of the faults; empty for a valid configuration. */
function faults(schema: z.ZodType, config: unknown): string[] {
  const result = schema.safeParse(config);
  return result.success ? [] : result.error.issues.map(({ path }) => path.join('.'));
}

describe('providerConfigSchema', () => {
  it.each([
    ['an issuer alone', discovered],
    ['discovery by RFC 8414', { ...discovered, discovery: 'oauth2' }],
    ['endpoints alone', explicit],
    ['endpoints and issuer', { ...explicit, issuer: 'https://as.example', requireIss: true }],
    ['loopback in development', { ...discovered, issuer: 'http://localhost:3000' }],
    [
      'a device flow',
      {
        name: 'tv',
        displayName: 'TV',
        clientId: 'postern',
        flow: 'device',
        tokenEndpoint: 'https://as.example/token',
        deviceAuthorizationEndpoint: 'https://as.example/device',
      },
    ],
    ['a client key', { ...discovered, clientKey }],
    ['metadata elsewhere', { ...discovered, metadataUrl: 'https://as.example/policy/metadata' }],
    ['a multi-tenant issuer', multiTenant],
    ['a multi-tenant issuer without tenants', { ...multiTenant, tenants: undefined }],
    ['members of the callback', { ...discovered, callbackMembers: ['realmId', 'accounts-server'] }],
    ['a remote MCP server', { name: 'remote', displayName: 'Remote', mcpResource: 'https://remote.example/mcp' }],
    [
      'a custom revocation endpoint',
      { ...explicit, revocation: { endpoint: 'https://api.example/apps/{clientId}/grant' } },
    ],
    ['PAR with endpoints', { ...explicit, pushedAuthorizationEndpoint: 'https://as.example/par' }],
    ['no PKCE with a secret', { ...explicit, pkce: 'unsupported', clientSecret: 'x' }],
    ['API hosts', { ...discovered, apiHosts: ['api.example', 'localhost:3000', '[::1]:3000', '*.api.example'] }],
    ['texts per locale', { ...discovered, scopes: { repo: { en: 'Code', 'zh-Hans': '代码' }, gist: 'Snippets' } }],
  ])('accepts %s', (_, config) => {
    expect(faults(providerConfigSchema, config)).toEqual([]);
  });

  it.each([
    ['an unknown member', { ...discovered, clientID: 'x' }, ''],
    ['a name that is not a path segment', { ...discovered, name: 'My Tracker' }, 'name'],
    ['neither issuer nor endpoints', { ...discovered, issuer: undefined }, 'issuer'],
    ['an authorization endpoint without token endpoint', { ...explicit, tokenEndpoint: undefined }, 'tokenEndpoint'],
    [
      'a token endpoint without authorization endpoint',
      { ...explicit, authorizationEndpoint: undefined },
      'authorizationEndpoint',
    ],
    ['metadata elsewhere without issuer', { ...discovered, issuer: undefined, mcpResource, metadataUrl }, 'issuer'],
    ['metadata elsewhere and discovery', { ...discovered, metadataUrl, discovery: 'oidc' }, 'discovery'],
    ['metadata elsewhere and endpoints', { ...explicit, issuer: 'https://as.example', metadataUrl }, 'metadataUrl'],
    ['a multi-tenant issuer without metadataUrl', { ...multiTenant, metadataUrl: undefined }, 'metadataUrl'],
    [
      'a multi-tenant account from ID tokens of any tenant',
      { ...multiTenant, tenants: undefined, account: { from: 'id_token' } },
      'tenants',
    ],
    ['tenants of another issuer', { ...discovered, tenants: multiTenant.tenants }, 'tenants'],
    ['a tenant that is a domain', { ...multiTenant, tenants: ['contoso.example'] }, 'tenants.0'],
    ['an assertion for a multi-tenant issuer', { ...multiTenant, clientKey }, 'issuer'],
    ['S196: state among callbackMembers', { ...discovered, callbackMembers: ['state'] }, 'callbackMembers.0'],
    ['S196: code among callbackMembers', { ...discovered, callbackMembers: ['realmId', 'code'] }, 'callbackMembers.1'],
    ['S196: scope among callbackMembers', { ...discovered, callbackMembers: ['scope'] }, 'callbackMembers.0'],
    [
      'S196: refresh_token among callbackMembers',
      { ...discovered, callbackMembers: ['refresh_token'] },
      'callbackMembers.0',
    ],
    [
      'callbackMembers of a device flow',
      { ...discovered, flow: 'device', callbackMembers: ['realmId'] },
      'callbackMembers',
    ],
    ['endpoints and discovery', { ...explicit, discovery: 'oidc' }, 'discovery'],
    ['an issuer with http', { ...discovered, issuer: 'http://as.example' }, 'issuer'],
    ['an issuer with a query', { ...discovered, issuer: 'https://as.example?a=b' }, 'issuer'],
    ['an issuer with credentials', { ...discovered, issuer: 'https://a:b@as.example' }, 'issuer'],
    [
      'an endpoint with another scheme',
      { ...explicit, authorizationEndpoint: 'javascript:alert(1)' },
      'authorizationEndpoint',
    ],
    ['requireIss without issuer', { ...explicit, requireIss: true }, 'issuer'],
    [
      'HTTP Basic without a client secret',
      { ...discovered, clientAuthentication: 'client_secret_basic' },
      'clientSecret',
    ],
    [
      'no client authentication with a client secret',
      { ...discovered, clientAuthentication: 'none', clientSecret: 'x' },
      'clientSecret',
    ],
    ['no client id', { ...discovered, clientId: undefined }, 'clientId'],
    ['a key and a secret', { ...discovered, clientKey, clientSecret: 'x' }, 'clientSecret'],
    ['private_key_jwt without key', { ...discovered, clientAuthentication: 'private_key_jwt' }, 'clientKey'],
    ['T11: a client key without an issuer as audience of its assertions', { ...explicit, clientKey }, 'issuer'],
    ['a short secret for HMAC', { ...discovered, ...hmac, clientSecret: 'x'.repeat(31) }, 'clientSecret'],
    [
      'a client secret without a client id',
      { ...discovered, mcpResource, clientId: undefined, clientSecret: 'x' },
      'clientSecret',
    ],
    ['no PKCE for a public client', { ...explicit, pkce: 'unsupported' }, 'pkce'],
    ['T6: no PKCE with discovery', { ...discovered, clientSecret: 'x', pkce: 'unsupported' }, 'pkce'],
    [
      'T6: no PKCE for a client that registers itself',
      { ...discovered, issuer: undefined, clientId: undefined, mcpResource, clientKey, pkce: 'unsupported' },
      'pkce',
    ],
    [
      'required PAR without an endpoint',
      { ...explicit, pushedAuthorization: 'required' },
      'pushedAuthorizationEndpoint',
    ],
    [
      'an endpoint for PAR that is off',
      { ...discovered, pushedAuthorization: 'off', pushedAuthorizationEndpoint: 'https://as.example/par' },
      'pushedAuthorizationEndpoint',
    ],
    [
      'bearer tokens with required DPoP',
      { ...discovered, dpop: 'required', tokenResponse: { tokenType: 'bearer' } },
      'tokenResponse',
    ],
    [
      'bearer tokens with required DPoP at a refresh',
      { ...discovered, dpop: 'required', refresh: { tokenResponse: { tokenType: 'bearer' } } },
      'refresh',
    ],
    ['a device flow without endpoint', { ...explicit, flow: 'device' }, 'deviceAuthorizationEndpoint'],
    [
      'a scope parameter that is another protocol parameter',
      { ...discovered, scopeParameter: 'state' },
      'scopeParameter',
    ],
    [
      'a member path with an empty name',
      { ...discovered, tokenResponse: { members: { scope: 'a..b' } } },
      'tokenResponse.members.scope',
    ],
    ['a revocation method without style custom', { ...discovered, revocation: { method: 'GET' } }, 'revocation.method'],
    [
      'a revocation with HTTP Basic without a client secret',
      {
        ...discovered,
        clientAuthentication: 'none',
        revocation: { style: 'custom', endpoint: 'https://as.example/x', authentication: 'basic' },
      },
      'revocation',
    ],
    [
      'a revocation without a token in the request',
      { ...discovered, revocation: { style: 'custom', endpoint: 'https://as.example/x', body: 'none' } },
      'revocation.body',
    ],
    [
      'a token in a URL',
      { ...discovered, revocation: { style: 'custom', endpoint: 'https://as.example/x', method: 'GET' } },
      'revocation.body',
    ],
    [
      'a client id in a host',
      { ...discovered, revocation: { endpoint: 'https://{clientId}.example' } },
      'revocation.endpoint',
    ],
    [
      'an unknown placeholder',
      { ...discovered, revocation: { endpoint: 'https://as.example/{x}' } },
      'revocation.endpoint',
    ],
    ['a scope with a space', { ...discovered, defaultScopes: ['repo gist'] }, 'defaultScopes.0'],
    ['an account from an ID token that cannot be verified', { ...explicit, account: { from: 'id_token' } }, 'account'],
    [
      'an account from userinfo without an endpoint',
      { ...explicit, account: { from: 'userinfo' } },
      'userinfoEndpoint',
    ],
    ['texts without English', { ...discovered, scopes: { repo: { de: 'Code' } } }, 'scopes.repo'],
  ])('refuses %s', (_, config, path) => {
    expect(faults(providerConfigSchema, config)).toContain(path);
  });

  it.each([
    ...['https://api.example', 'api.example/x', 'api.example:443', 'u@api.example', 'a b', ''],
    ...['*', '*.example', '*.127.0.0.1', '*.*.api.example', 'api.*.example', '*.api.example:8443'],
  ])('refuses the API host "%s"', host => {
    expect(faults(providerConfigSchema, { ...discovered, apiHosts: [host] })).toContain('apiHosts.0');
  });

  it.each([...protocolParameters])(
    'T6: neither authorizationParameters nor the authorization endpoint can set %s',
    name => {
      expect(faults(providerConfigSchema, { ...discovered, authorizationParameters: { [name]: 'x' } })).toEqual([
        'authorizationParameters',
      ]);
      const authorizationEndpoint = `${explicit.authorizationEndpoint}?tenant=acme&${name}=x`;
      expect(faults(providerConfigSchema, { ...explicit, authorizationEndpoint })).toEqual(['authorizationEndpoint']);
    },
  );

  it.each([...tokenProtocolParameters])('T6: tokenParameters cannot set %s', name => {
    const parameters = { [name]: 'x' };
    expect(faults(providerConfigSchema, { ...discovered, tokenParameters: parameters })).toEqual(['tokenParameters']);
    expect(faults(providerConfigSchema, { ...discovered, refresh: { parameters } })).toEqual(['refresh.parameters']);
  });

  it('does not quote a client key that it refuses', () => {
    const { error } = providerConfigSchema.safeParse({ ...discovered, clientKey: `${clientKey}x` });
    expect(error?.issues).toHaveLength(1);
    expect(inspect(error, { depth: 10 })).not.toContain(JSON.parse(clientKey).d);
  });

  it('has a JSON Schema for editors', () => {
    expect(z.toJSONSchema(providerConfigSchema, { io: 'input' })).toMatchObject({ type: 'object' });
    expect(z.toJSONSchema(identityProviderConfigSchema, { io: 'input' })).toMatchObject({ type: 'object' });
  });
});

describe('identityProviderConfigSchema', () => {
  const idp = { name: 'company', issuer: 'https://idp.example', clientId: 'postern' };

  it.each([
    ['the minimum', idp],
    ['several subject claims', { ...idp, subjectClaim: 'tid+oid' }],
    ['a namespaced subject claim', { ...idp, subjectClaim: 'https://idp.example/claims/id' }],
    ['access tokens', { ...idp, accessTokens: { audience: ['https://mcp.example'] } }],
  ])('accepts %s', (_, config) => {
    expect(faults(identityProviderConfigSchema, config)).toEqual([]);
  });

  it.each([
    'email',
    'preferred_username',
    'name',
    'upn',
    'tid+email',
    'Email',
    'mail',
    'https://idp.example/claims/email',
    'urn:example:claims:email',
  ])('S05: refuses %s as subject claim', subjectClaim => {
    expect(faults(identityProviderConfigSchema, { ...idp, subjectClaim })).toEqual(['subjectClaim']);
    expect(faults(identityProviderConfigSchema, { ...idp, accessTokens: { subjectClaim } })).toEqual([
      'accessTokens.subjectClaim',
    ]);
  });

  it.each([
    ['no openid scope', { ...idp, scopes: ['profile'] }, 'scopes'],
    ['an empty claim', { ...idp, subjectClaim: 'tid+' }, 'subjectClaim'],
    [
      'the client id as audience of access tokens',
      { ...idp, accessTokens: { audience: 'postern' } },
      'accessTokens.audience',
    ],
  ])('refuses %s', (_, config, path) => {
    expect(faults(identityProviderConfigSchema, config)).toContain(path);
  });
});
