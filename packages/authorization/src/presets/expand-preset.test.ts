import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { providerConfigSchema } from '../provider-config.ts';
import { expandPreset } from './expand-preset.ts';

const expanding = z.preprocess(expandPreset, z.unknown());
const registration = { name: 'code', clientId: 'id', clientSecret: 'secret' };

function expand(raw: object) {
  return z.record(z.string(), z.unknown()).parse(expanding.parse({ ...registration, ...raw }));
}

function faultPaths(raw: unknown): string[] {
  return expanding.safeParse(raw).error?.issues.map(issue => issue.path.join('.')) ?? [];
}

describe('without a preset', () => {
  test.each([[registration], ['text'], [null], [[1]], [undefined]])('%j stays as it is', raw => {
    expect(expanding.parse(raw)).toBe(raw);
  });

  test('presetValues are a mistake', () => {
    expect(faultPaths({ presetValues: { domain: 'acme.okta.com' } })).toEqual(['presetValues']);
  });
});

describe('the operator wins', () => {
  test('over every member of the preset', () => {
    const expanded = expand({
      preset: 'github',
      displayName: 'Our GitHub',
      tokenEndpoint: 'https://proxy.example/token',
    });
    expect(expanded).toMatchObject({
      ...registration,
      displayName: 'Our GitHub',
      tokenEndpoint: 'https://proxy.example/token',
      authorizationEndpoint: 'https://github.com/login/oauth/authorize',
    });
  });

  test('entry by entry in parameters, implied scopes and words', () => {
    const expanded = expand({
      preset: 'google',
      authorizationParameters: { prompt: 'select_account', hd: 'acme.example' },
      scopeDescriptions: { openid: 'Know who you are' },
    });
    expect(expanded['authorizationParameters']).toEqual({
      access_type: 'offline',
      include_granted_scopes: 'true',
      prompt: 'select_account',
      hd: 'acme.example',
    });
    expect(expanded['scopeDescriptions']).toMatchObject({
      openid: 'Know who you are',
      email: { en: 'See your email address' },
    });
  });

  test('whole in everything else', () => {
    const expanded = expand({ preset: 'github', tokenResponse: { format: 'form' }, baseScopes: ['repo'] });
    expect(expanded).toMatchObject({ tokenResponse: { format: 'form' }, baseScopes: ['repo'] });
    expect(expanded['tokenResponse']).toEqual({ format: 'form' });
  });

  test('null takes a member away', () => {
    expect(expand({ preset: 'github', account: null, revocation: null })).not.toHaveProperty('account');
    expect(expand({ preset: 'github', revocation: null })).not.toHaveProperty('revocation');
  });

  test('nothing changes when it is done twice', () => {
    const once = expand({ preset: 'keycloak', presetValues: { host: 'id.acme.example', realm: 'acme' } });
    expect(expanding.parse(once)).toEqual(once);
  });
});

describe('scopes', () => {
  test('are described and not restricted by a preset', () => {
    const expanded = expand({ preset: 'github' });
    expect(expanded).not.toHaveProperty('scopes');
    expect(expanded['scopeDescriptions']).toMatchObject({ repo: { en: expect.any(String) } });
  });

  test('as a list are closed, in the words of the preset', () => {
    const expanded = expand({ preset: 'github', scopes: ['read:user'] });
    expect(expanded['scopes']).toEqual({ 'read:user': { en: 'Read your profile', 'zh-Hans': '读取您的个人资料' } });
  });

  test('as a list may use words that the operator adds', () => {
    const expanded = expand({
      preset: 'okta',
      presetValues: { domain: 'acme.okta.com' },
      scopes: ['orders'],
      scopeDescriptions: { orders: 'See your orders' },
    });
    expect(expanded['scopes']).toEqual({ orders: 'See your orders' });
  });

  test('as a list need words', () => {
    expect(faultPaths({ preset: 'github', scopes: ['read:user', 'unheard:of', 'toString', 4] })).toEqual([
      'scopes.1',
      'scopes.2',
      'scopes.3',
    ]);
  });

  test('as a map are the closed list of the operator', () => {
    expect(expand({ preset: 'github', scopes: { repo: 'Code' } })['scopes']).toEqual({ repo: 'Code' });
  });
});

describe('faults', () => {
  test.each([['unheard-of'], [4], [null], ['constructor'], ['GitHub']])('unknown preset %j', preset => {
    expect(faultPaths({ ...registration, preset })).toEqual(['preset']);
  });

  test('a missing value', () => {
    expect(faultPaths({ preset: 'keycloak', presetValues: { host: 'id.acme.example' } })).toEqual([
      'presetValues.realm',
    ]);
    expect(faultPaths({ preset: 'keycloak' })).toEqual(['presetValues.host', 'presetValues.realm']);
  });

  test('a superfluous value', () => {
    expect(faultPaths({ preset: 'github', presetValues: { host: 'github.acme.example' } })).toEqual([
      'presetValues.host',
    ]);
    expect(faultPaths({ preset: 'github', presetValues: { toString: 'x' } })).toEqual(['presetValues.toString']);
  });

  test.each([['text'], [[]], [null]])('values that are no object: %j', presetValues => {
    expect(faultPaths({ preset: 'okta', presetValues })).toContain('presetValues');
  });

  test('a value that is no text', () => {
    expect(faultPaths({ preset: 'okta', presetValues: { domain: 4 } })).toEqual(['presetValues.domain']);
  });

  test.each(['acme.okta.com/evil', 'evil.example#', 'user@evil.example', 'https://acme.okta.com'])(
    'a value that smuggles: %s',
    domain => {
      expect(faultPaths({ preset: 'okta', presetValues: { domain } })).toEqual(['presetValues.domain']);
    },
  );

  test('name values, never repeat them', () => {
    const { error } = expanding.safeParse({ preset: 'okta', presetValues: { domain: 'secret@evil.example' } });
    expect(JSON.stringify(error?.issues.map(issue => issue.message))).not.toContain('secret');
  });

  test('stop the validation behind', () => {
    const { error } = z.preprocess(expandPreset, providerConfigSchema).safeParse({ preset: 'unheard-of' });
    expect(error?.issues.map(issue => issue.path.join('.'))).toEqual(['preset']);
  });
});

test('values fill every place and leave other braces alone', () => {
  const expanded = expand({ preset: 'github-enterprise', presetValues: { host: 'git.acme.example:8443' } });
  expect(expanded).toMatchObject({
    authorizationEndpoint: 'https://git.acme.example:8443/login/oauth/authorize',
    revocation: { endpoint: 'https://git.acme.example:8443/api/v3/applications/{clientId}/token' },
  });
});

test('a value may be left out where the preset has one', () => {
  expect(expand({ preset: 'gitlab' })['issuer']).toBe('https://gitlab.com');
  expect(expand({ preset: 'gitlab', presetValues: { host: 'git.acme.example' } })['issuer']).toBe(
    'https://git.acme.example',
  );
});

test('the result is what the operator could have written', () => {
  const config = providerConfigSchema.parse(expand({ preset: 'slack' }));
  expect(config).toMatchObject({ name: 'code', displayName: 'Slack', pkce: 'unsupported' });
});
