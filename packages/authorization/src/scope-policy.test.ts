import { describe, expect, it } from 'vitest';
import { providerConfigSchema } from './presets/expand-preset.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { scopePolicy } from './scope-policy.ts';
import { failureCodeOf } from './testing/failure-of.ts';

function policy(changes: Partial<ProviderConfigInput> = {}) {
  const config = { name: 'a', displayName: 'A', issuer: 'https://as.example', clientId: 'postern', ...changes };
  return scopePolicy(providerConfigSchema.parse(config));
}
const scopeImplies = {
  user: ['read:user', 'user:email'],
  admin: ['user'],
  email: ['userinfo.email'],
  'userinfo.email': ['email'],
};

describe('S19: the effectively granted scopes', () => {
  it.each([
    ['are those of the response', {}, 'repo gist', ['repo'], ['repo', 'gist']],
    ['are the requested ones if the response has no scope', {}, undefined, ['repo'], ['repo']],
    ['are empty if the response has an empty scope', {}, '', ['repo'], []],
    [
      'include openid and offline_access although the response omits them',
      {},
      'repo',
      ['openid', 'offline_access', 'repo'],
      ['repo', 'openid', 'offline_access'],
    ],
    ['do not include openid if it was not requested', {}, 'repo', ['repo'], ['repo']],
    [
      'include requested scopes that the provider never reports',
      { unreportedScopes: ['profile'] },
      'repo',
      ['repo', 'profile'],
      ['repo', 'profile'],
    ],
    ['include implied scopes', { scopeImplies }, 'user', ['user'], ['user', 'read:user', 'user:email']],
    ['include indirectly implied scopes', { scopeImplies }, 'admin', [], ['admin', 'user', 'read:user', 'user:email']],
    ['include both names of a scope', { scopeImplies }, 'userinfo.email', ['email'], ['userinfo.email', 'email']],
    [
      'exclude text that is not a scope',
      {},
      'repo "a\u202eb \u0000 é gist\u00a0user',
      ['repo'],
      ['repo', 'gist', 'user'],
    ],
    [
      'include both names of a requested scope if the response has no scope',
      { scopeImplies },
      undefined,
      ['email'],
      ['email', 'userinfo.email'],
    ],
    ['are separated by commas if configured', { scopeSeparator: ',' }, 'a,b', [], ['a', 'b']],
  ] as const)('%s', (_, changes, scope, asked, granted) => {
    expect(policy(changes as Partial<ProviderConfigInput>).granted(scope, asked)).toEqual(granted);
  });
});

describe('scopes to request', () => {
  it.each([
    ['are the union of needed and held ones', {}, ['gist'], ['repo'], ['gist', 'repo']],
    [
      'include the base scopes',
      { baseScopes: ['offline_access'] },
      ['gist'],
      ['repo'],
      ['offline_access', 'gist', 'repo'],
    ],
    ['include the default scopes if none are needed', { defaultScopes: ['repo'] }, [], ['gist'], ['repo', 'gist']],
    ['exclude held scopes that may not be requested', { scopes: { gist: 'Snippets' } }, ['gist'], ['repo'], ['gist']],
    [
      'exclude held scopes that a needed one implies',
      { scopeImplies },
      ['user'],
      ['read:user', 'repo', 'user:email'],
      ['user', 'repo'],
    ],
    [
      'exclude held scopes that another held one implies',
      { scopeImplies },
      ['repo'],
      ['read:user', 'user', 'user:email'],
      ['repo', 'user'],
    ],
    ['include one of two names of a scope', { scopeImplies }, ['repo'], ['email', 'userinfo.email'], ['repo', 'email']],
    ['are only the missing ones (incremental)', { incrementalScopes: true }, ['repo', 'gist'], ['repo'], ['gist']],
    [
      'include the base scopes (incremental)',
      { incrementalScopes: true, baseScopes: ['openid'] },
      ['gist'],
      ['openid'],
      ['openid', 'gist'],
    ],
    [
      'are all needed ones if none are missing (incremental)',
      { incrementalScopes: true },
      ['repo'],
      ['repo', 'gist'],
      ['repo'],
    ],
  ] as const)('%s', (_, changes, needed, held, requested) => {
    const scopes = policy(changes as Partial<ProviderConfigInput>);
    expect(scopes.toRequest(needed, held)).toEqual(requested);
    expect(scopes.requested(requested)).toEqual(requested);
  });

  it('must be allowed by the configuration', async () => {
    const scopes = policy({ scopes: { gist: 'Snippets' } });
    expect(await failureCodeOf(() => scopes.toRequest(['repo'], []))).toBe('scope_not_allowed');
  });

  it('are computed quickly for 20,000 held scopes', () => {
    const held = Array.from({ length: 20_000 }, (_, index) => `s${index}`);
    expect(policy({ scopeImplies }).toRequest(['user'], [...held, 'read:user'])).toEqual(['user', ...held]);
  });

  it('preserve every granted scope', () => {
    const scopes = policy({ scopeImplies });
    const held = scopes.granted('admin userinfo.email repo', []);
    const after = scopes.granted(scopes.toRequest(['gist'], held).join(' '), []);
    expect(after).toEqual(expect.arrayContaining([...held, 'gist']));
  });
});
