import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { identityProviderConfigSchema } from './identity-provider-config.ts';
import { protocolParameters } from './protocol-parameters.ts';
import { providerConfigSchema } from './provider-config.ts';

const discovered = { name: 'tracker', displayName: 'Tracker', issuer: 'https://as.example', clientId: 'postern' };
const explicit = {
  name: 'tracker',
  displayName: 'Tracker',
  clientId: 'postern',
  authorizationEndpoint: 'https://as.example/authorize',
  tokenEndpoint: 'https://as.example/token',
};

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
