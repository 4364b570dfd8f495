import { generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { identityProviderConfigSchema } from './identity-provider-config.ts';
import { protocolParameters, tokenProtocolParameters } from './protocol-parameters.ts';
import { providerConfigSchema } from './provider-config.ts';

const discovered = { name: 'tracker', displayName: 'Tracker', issuer: 'https://as.example', clientId: 'postern' };
const explicit = {
  name: 'tracker',
  displayName: 'Tracker',
  clientId: 'postern',
  authorizationEndpoint: 'https://as.example/authorize',
  tokenEndpoint: 'https://as.example/token',
};

const mcpResource = 'https://remote.example/mcp';
const hmac = { clientAuthentication: 'client_secret_jwt' };
const clientKey = JSON.stringify(
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
);

/** Paths of the faults, empty when the configuration is accepted. */
function faults(schema: z.ZodType, config: unknown): string[] {
  const result = schema.safeParse(config);
  return result.success ? [] : result.error.issues.map(({ path }) => path.join('.'));
}

describe('providerConfigSchema', () => {
  it.each([
    ['an issuer alone', discovered],
    ['RFC 8414', { ...discovered, discovery: 'oauth2' }],
    ['endpoints alone', explicit],
    ['endpoints and issuer', { ...explicit, issuer: 'https://as.example', requireIss: true }],
    ['loopback in development', { ...discovered, issuer: 'http://localhost:3000' }],
    [
      'a device flow',
      {
        ...{ name: 'tv', displayName: 'TV', clientId: 'postern', flow: 'device' },
        tokenEndpoint: 'https://as.example/token',
        deviceAuthorizationEndpoint: 'https://as.example/device',
      },
    ],
    ['a client key', { ...discovered, clientKey }],
    ['a remote MCP server', { name: 'remote', displayName: 'Remote', mcpResource: 'https://remote.example/mcp' }],
    ['another way to revoke', { ...explicit, revocation: { endpoint: 'https://api.example/apps/{clientId}/grant' } }],
    ['PAR with endpoints', { ...explicit, pushedAuthorizationEndpoint: 'https://as.example/par' }],
    ['no PKCE with a secret', { ...explicit, pkce: 'unsupported', clientSecret: 'x' }],
    ['texts per locale', { ...discovered, scopes: { repo: { en: 'Code', 'zh-Hans': '代码' }, gist: 'Snippets' } }],
  ])('accepts %s', (_, config) => {
    expect(faults(providerConfigSchema, config)).toEqual([]);
  });

  it.each([
    ['an unknown member', { ...discovered, clientID: 'x' }, ''],
    ['a name that is no path segment', { ...discovered, name: 'My Tracker' }, 'name'],
    ['neither issuer nor endpoints', { ...discovered, issuer: undefined }, 'issuer'],
    ['half of the endpoints', { ...explicit, tokenEndpoint: undefined }, 'tokenEndpoint'],
    ['the other half', { ...explicit, authorizationEndpoint: undefined }, 'authorizationEndpoint'],
    ['endpoints and discovery', { ...explicit, discovery: 'oidc' }, 'discovery'],
    ['http', { ...discovered, issuer: 'http://as.example' }, 'issuer'],
    ['an issuer with a query', { ...discovered, issuer: 'https://as.example?a=b' }, 'issuer'],
    ['an issuer with credentials', { ...discovered, issuer: 'https://a:b@as.example' }, 'issuer'],
    [
      'an endpoint of another scheme',
      { ...explicit, authorizationEndpoint: 'javascript:alert(1)' },
      'authorizationEndpoint',
    ],
    ['requireIss without issuer', { ...explicit, requireIss: true }, 'issuer'],
    ['basic without secret', { ...discovered, clientAuthentication: 'client_secret_basic' }, 'clientSecret'],
    ['none with secret', { ...discovered, clientAuthentication: 'none', clientSecret: 'x' }, 'clientSecret'],
    ['no client', { ...discovered, clientId: undefined }, 'clientId'],
    ['a key and a secret', { ...discovered, clientKey, clientSecret: 'x' }, 'clientSecret'],
    ['private_key_jwt without key', { ...discovered, clientAuthentication: 'private_key_jwt' }, 'clientKey'],
    ['T11: a key without an issuer to be its audience', { ...explicit, clientKey }, 'issuer'],
    ['a short secret for HMAC', { ...discovered, ...hmac, clientSecret: 'x'.repeat(31) }, 'clientSecret'],
    ['a secret for nobody', { ...discovered, mcpResource, clientId: undefined, clientSecret: 'x' }, 'clientSecret'],
    ['no PKCE for a public client', { ...explicit, pkce: 'unsupported' }, 'pkce'],
    ['T6: no PKCE where metadata tells', { ...discovered, clientSecret: 'x', pkce: 'unsupported' }, 'pkce'],
    [
      'T6: no PKCE for a client that registers itself',
      { ...discovered, issuer: undefined, clientId: undefined, mcpResource, clientKey, pkce: 'unsupported' },
      'pkce',
    ],
    ['PAR required without endpoint', { ...explicit, pushedAuthorization: 'required' }, 'pushedAuthorizationEndpoint'],
    [
      'PAR off with endpoint',
      { ...discovered, pushedAuthorization: 'off', pushedAuthorizationEndpoint: 'https://as.example/par' },
      'pushedAuthorizationEndpoint',
    ],
    ['bearer and DPoP', { ...discovered, dpop: 'required', tokenResponse: { tokenType: 'bearer' } }, 'tokenResponse'],
    [
      'bearer and DPoP when refreshing',
      { ...discovered, dpop: 'required', refresh: { tokenResponse: { tokenType: 'bearer' } } },
      'refresh',
    ],
    ['a device flow without endpoint', { ...explicit, flow: 'device' }, 'deviceAuthorizationEndpoint'],
    ['scopes as another parameter', { ...discovered, scopeParameter: 'state' }, 'scopeParameter'],
    [
      'a path with holes',
      { ...discovered, tokenResponse: { members: { scope: 'a..b' } } },
      'tokenResponse.members.scope',
    ],
    ['a way to revoke that is none', { ...discovered, revocation: { method: 'GET' } }, 'revocation.method'],
    [
      'a revocation by a secret that is not there',
      {
        ...{ ...discovered, clientAuthentication: 'none' },
        revocation: { style: 'custom', endpoint: 'https://as.example/x', authentication: 'basic' },
      },
      'revocation',
    ],
    [
      'a revocation that names nothing',
      { ...discovered, revocation: { style: 'custom', endpoint: 'https://as.example/x', body: 'none' } },
      'revocation.body',
    ],
    [
      'a token in a URL',
      { ...discovered, revocation: { style: 'custom', endpoint: 'https://as.example/x', method: 'GET' } },
      'revocation.body',
    ],
    [
      'a host made of the client id',
      { ...discovered, revocation: { endpoint: 'https://{clientId}.example' } },
      'revocation.endpoint',
    ],
    [
      'a placeholder that nobody fills',
      { ...discovered, revocation: { endpoint: 'https://as.example/{x}' } },
      'revocation.endpoint',
    ],
    ['a scope with a space', { ...discovered, defaultScopes: ['repo gist'] }, 'defaultScopes.0'],
    ['an unverifiable account', { ...explicit, account: { from: 'id_token' } }, 'account'],
    ['an account from nowhere', { ...explicit, account: { from: 'userinfo' } }, 'userinfoEndpoint'],
    ['texts without English', { ...discovered, scopes: { repo: { de: 'Code' } } }, 'scopes.repo'],
  ])('refuses %s', (_, config, path) => {
    expect(faults(providerConfigSchema, config)).toContain(path);
  });

  it.each([...protocolParameters])('T6: authorizationParameters cannot set %s', name => {
    expect(faults(providerConfigSchema, { ...discovered, authorizationParameters: { [name]: 'x' } })).toEqual([
      'authorizationParameters',
    ]);
  });

  it.each([...tokenProtocolParameters])('T6: tokenParameters cannot set %s', name => {
    const parameters = { [name]: 'x' };
    expect(faults(providerConfigSchema, { ...discovered, tokenParameters: parameters })).toEqual(['tokenParameters']);
    expect(faults(providerConfigSchema, { ...discovered, refresh: { parameters } })).toEqual(['refresh.parameters']);
  });

  it('never repeats a key that it refuses', () => {
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
  ])('S05: %s is no subject claim', subjectClaim => {
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
