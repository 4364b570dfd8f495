import fc from 'fast-check';
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
    ['are separated by commas', {}, 'a,b', [], ['a', 'b']],
    ['contain commas if a configured scope does', { scopeImplies: { 'a,c': ['d'] } }, 'a,b', ['a'], ['a,b']],
  ] as const)('%s', (_, changes, scope, asked, granted) => {
    expect(policy(changes as Partial<ProviderConfigInput>).granted(scope, asked)).toEqual(granted);
  });
});

it('a scope with a comma can be requested only if the configuration names it: some providers split there', () => {
  const refusal = expect.objectContaining({ code: 'scope_not_allowed' });
  expect(() => policy({}).requested(['delete_repo,public_repo'])).toThrow(refusal);
  expect(policy({ scopeImplies: { 'a,b': ['c'] } }).requested(['a,b'])).toEqual(['a,b']);
});

const scopeSpelling = { prefixes: ['https://graph.example/'], ignoreCase: true };
const graph = {
  scopeSpelling,
  scopeDescriptions: { 'Mail.Read': 'Read mail', 'Mail.ReadWrite': 'Change mail' },
  scopeImplies: { 'Mail.ReadWrite': ['Mail.Read'] },
  unreportedScopes: ['.default', '*/.default'],
};

describe('S192: spellings of one scope', () => {
  it.each([
    ['with the prefix', 'https://graph.example/Mail.Read', ['Mail.Read'], ['Mail.Read']],
    ['in another case', 'mail.read', ['Mail.Read'], ['Mail.Read']],
    ['with the prefix in another case', 'HTTPS://Graph.example/mail.READ', ['Mail.Read'], ['Mail.Read']],
    [
      'that implies the requested one',
      'https://graph.example/mail.readwrite',
      ['Mail.Read'],
      ['Mail.ReadWrite', 'Mail.Read'],
    ],
    ['that no preset knows', 'https://graph.example/people.read', ['People.Read'], ['People.Read']],
    [
      'as held before the spelling was known',
      'Mail.Read',
      ['https://graph.example/Mail.Read'],
      ['Mail.Read', 'https://graph.example/Mail.Read'],
    ],
    [
      'of a set of scopes that responses never name',
      'Mail.Read',
      ['https://graph.example/.default'],
      ['Mail.Read', '.default', 'https://graph.example/.default'],
    ],
    ['of such a set at another API', 'api://x/Orders', ['api://x/.default'], ['api://x/Orders', 'api://x/.default']],
  ] as const)('count as the requested one: reported %s', (_, reported, asked, granted) => {
    expect(policy(graph).granted(reported, asked)).toEqual(granted);
  });

  it.each([
    ['at another API', 'https://other.example/Mail.Read'],
    ['below the prefix', 'https://graph.example/v2/Mail.Read'],
    ['behind two prefixes', 'https://graph.example/https://graph.example/Mail.Read'],
    ['with the prefix as its end', 'Mail.Read/https://graph.example/'],
    ['that only begins like it', 'Mail.Read.All'],
    ['that is encoded', 'https://graph.example/Mail%2eRead'],
    ['that is less', 'Mail.Read'],
  ])('are bounded by the configuration: %s, %s is another scope', (_, reported) => {
    expect(policy(graph).granted(reported, ['Mail.ReadWrite', 'Mail.Read'])).not.toContain('Mail.ReadWrite');
    const asked = reported === 'Mail.Read' ? 'Mail.ReadWrite' : 'Mail.Read';
    expect(policy(graph).granted(reported, [asked])).not.toContain(asked);
  });

  it('are different scopes unless the configuration says otherwise', () => {
    expect(policy().granted('https://graph.example/Mail.Read mail.read', ['Mail.Read'])).not.toContain('Mail.Read');
    expect(
      policy({ scopeSpelling: { ignoreCase: true } }).granted('https://graph.example/Mail.Read', ['Mail.Read']),
    ).not.toContain('Mail.Read');
    const prefixed = policy({ scopeSpelling: { prefixes: ['https://graph.example/'] } });
    expect(prefixed.granted('https://graph.example/mail.read', ['Mail.Read'])).toEqual(['mail.read']);
  });

  it('never make another scope count as granted', () => {
    const name = fc.stringMatching(/^[A-Za-z.]{1,6}$/);
    const scope = fc
      .tuple(fc.constantFrom('', 'https://graph.example/', 'https://other.example/', 'graph.example/'), name)
      .map(parts => parts.join(''));
    // Written independently of the policy: the last part of the scope without case, and the API that it belongs to.
    const meaning = (text: string) => {
      const [, api = '', last = ''] =
        /^((?:https:\/\/(?:graph|other)\.example|graph\.example)\/)?(.*)$/i.exec(text) ?? [];
      return `${api.toLowerCase() === 'https://graph.example/' ? '' : api.toLowerCase()} ${last.toLowerCase()}`;
    };
    fc.assert(
      fc.property(
        fc.array(scope, { maxLength: 6 }),
        fc.array(scope, { minLength: 1, maxLength: 6 }),
        (reported, asked) => {
          const granted = policy({ scopeSpelling }).granted(reported.join(' '), asked);
          const meanings = new Set(reported.map(meaning));
          const expected = asked.filter(
            part => part === 'openid' || part === 'offline_access' || meanings.has(meaning(part)),
          );
          expect(asked.filter(part => granted.includes(part))).toEqual(expected);
          expect(new Set(granted.map(meaning))).toEqual(meanings);
        },
      ),
    );
  });

  it('are one scope in requests, and in the closed list of the configuration', async () => {
    const scopes = policy({ ...graph, scopes: { 'Mail.Read': 'Read mail' } });
    expect(scopes.requested(['https://graph.example/mail.read', 'Mail.Read'])).toEqual(['Mail.Read']);
    expect(scopes.spelled(['MAIL.READ', 'https://graph.example/Mail.Read'])).toEqual(['Mail.Read']);
    expect(scopes.toRequest(['Mail.Read'], ['https://graph.example/mail.read'])).toEqual(['Mail.Read']);
    expect(await failureCodeOf(() => scopes.requested(['https://other.example/Mail.Read']))).toBe('scope_not_allowed');
    const incremental = policy({ ...graph, incrementalScopes: true });
    expect(incremental.toRequest(['Mail.Read', 'Mail.ReadWrite'], ['https://graph.example/mail.read'])).toEqual([
      'Mail.ReadWrite',
    ]);
  });

  it('lose nothing in a refresh', () => {
    const scopes = policy(graph);
    const held = scopes.granted('https://graph.example/Mail.ReadWrite people.read', [
      'Mail.ReadWrite',
      'People.Read',
      '.default',
    ]);
    for (const response of [
      undefined,
      'mail.readwrite PEOPLE.READ',
      'https://graph.example/mail.ReadWrite People.Read',
    ]) {
      expect(scopes.granted(response, held)).toEqual(expect.arrayContaining(held));
    }
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
