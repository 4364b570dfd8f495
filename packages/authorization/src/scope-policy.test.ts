import { describe, expect, it } from 'vitest';
import { failureCodeOf } from './failure-of.ts';
import { type ProviderConfigInput, providerConfigSchema } from './provider-config.ts';
import { scopePolicy } from './scope-policy.ts';

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

describe('S19: scopes granted in effect', () => {
  it.each([
    ['those named', {}, 'repo gist', ['repo'], ['repo', 'gist']],
    ['those asked for when none is named', {}, undefined, ['repo'], ['repo']],
    ['none when none is left', {}, '', ['repo'], []],
    [
      'openid and offline_access though not named',
      {},
      'repo',
      ['openid', 'offline_access', 'repo'],
      ['repo', 'openid', 'offline_access'],
    ],
    ['no openid that nobody asked for', {}, 'repo', ['repo'], ['repo']],
    [
      'what is never named, if asked for',
      { unreportedScopes: ['profile'] },
      'repo',
      ['repo', 'profile'],
      ['repo', 'profile'],
    ],
    ['with what they imply', { scopeImplies }, 'user', ['user'], ['user', 'read:user', 'user:email']],
    ['and what that implies', { scopeImplies }, 'admin', [], ['admin', 'user', 'read:user', 'user:email']],
    ['by both names', { scopeImplies }, 'userinfo.email', ['email'], ['userinfo.email', 'email']],
    ['nothing that is no scope', {}, 'repo "a\u202eb \u0000 é gist\u00a0user', ['repo'], ['repo', 'gist', 'user']],
    ['by both names, none being named', { scopeImplies }, undefined, ['email'], ['email', 'userinfo.email']],
    ['between commas where configured', { scopeSeparator: ',' }, 'a,b', [], ['a', 'b']],
  ] as const)('%s', (_, changes, scope, asked, granted) => {
    expect(policy(changes as Partial<ProviderConfigInput>).granted(scope, asked)).toEqual(granted);
  });
});

describe('scopes to request', () => {
  it.each([
    ['the union', {}, ['gist'], ['repo'], ['gist', 'repo']],
    ['the base as well', { baseScopes: ['offline_access'] }, ['gist'], ['repo'], ['offline_access', 'gist', 'repo']],
    ['the default ones when none is needed', { defaultScopes: ['repo'] }, [], ['gist'], ['repo', 'gist']],
    ['without held ones that may not be requested', { scopes: { gist: 'Snippets' } }, ['gist'], ['repo'], ['gist']],
    [
      'without held ones that come along',
      { scopeImplies },
      ['user'],
      ['read:user', 'repo', 'user:email'],
      ['user', 'repo'],
    ],
    [
      'without held ones that come with held ones',
      { scopeImplies },
      ['repo'],
      ['read:user', 'user', 'user:email'],
      ['repo', 'user'],
    ],
    ['one name of two', { scopeImplies }, ['repo'], ['email', 'userinfo.email'], ['repo', 'email']],
    ['incremental: the missing ones', { incrementalScopes: true }, ['repo', 'gist'], ['repo'], ['gist']],
    [
      'incremental: with the base',
      { incrementalScopes: true, baseScopes: ['openid'] },
      ['gist'],
      ['openid'],
      ['openid', 'gist'],
    ],
    ['incremental: all when none is missing', { incrementalScopes: true }, ['repo'], ['repo', 'gist'], ['repo']],
  ] as const)('%s', (_, changes, needed, held, requested) => {
    const scopes = policy(changes as Partial<ProviderConfigInput>);
    expect(scopes.toRequest(needed, held)).toEqual(requested);
    expect(scopes.requested(requested)).toEqual(requested);
  });

  it('nothing that may not be requested is needed', async () => {
    const scopes = policy({ scopes: { gist: 'Snippets' } });
    expect(await failureCodeOf(() => scopes.toRequest(['repo'], []))).toBe('scope_not_allowed');
  });

  it('however many the provider says are held', () => {
    const held = Array.from({ length: 20_000 }, (_, index) => `s${index}`);
    expect(policy({ scopeImplies }).toRequest(['user'], [...held, 'read:user'])).toEqual(['user', ...held]);
  });

  it('nothing of what is granted gets lost', () => {
    const scopes = policy({ scopeImplies });
    const held = scopes.granted('admin userinfo.email repo', []);
    const after = scopes.granted(scopes.toRequest(['gist'], held).join(' '), []);
    expect(after).toEqual(expect.arrayContaining([...held, 'gist']));
  });
});
