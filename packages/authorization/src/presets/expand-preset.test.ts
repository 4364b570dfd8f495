import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { expandPreset, placeholderValueFault, providerConfigSchema } from './expand-preset.ts';
import type { Placeholder } from './preset.ts';

const expanding = z.preprocess(expandPreset, z.unknown());
const registration = { name: 'code', clientId: 'id', clientSecret: 'secret' };

function expand(raw: object) {
  return z.record(z.string(), z.unknown()).parse(expanding.parse({ ...registration, ...raw }));
}

function faultPaths(raw: unknown): string[] {
  return expanding.safeParse(raw).error?.issues.map(issue => issue.path.join('.')) ?? [];
}

describe('a configuration without a preset', () => {
  test.each([[registration], ['text'], [null], [[1]], [undefined]])('is returned unchanged: %j', raw => {
    expect(expanding.parse(raw)).toBe(raw);
  });

  test('must not have presetValues', () => {
    expect(faultPaths({ presetValues: { domain: 'acme.okta.com' } })).toEqual(['presetValues']);
  });
});

describe('the members of the operator', () => {
  test('replace those of the preset', () => {
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

  test('merge with the preset entry by entry: parameters, implied scopes and texts', () => {
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
      openid: { text: 'Know who you are', access: 'see' },
      email: { access: 'see' },
    });
  });

  test('replace all other objects and lists as a whole', () => {
    const expanded = expand({ preset: 'github', tokenResponse: { format: 'form' }, baseScopes: ['repo'] });
    expect(expanded).toMatchObject({ tokenResponse: { format: 'form' }, baseScopes: ['repo'] });
    expect(expanded['tokenResponse']).toEqual({ format: 'form' });
  });

  test('remove a member of the preset with null', () => {
    expect(expand({ preset: 'github', account: null, revocation: null })).not.toHaveProperty('account');
    expect(expand({ preset: 'github', revocation: null })).not.toHaveProperty('revocation');
  });

  test('do not change when the preset is expanded twice', () => {
    const once = expand({ preset: 'keycloak', presetValues: { host: 'id.acme.example', realm: 'acme' } });
    expect(expanding.parse(once)).toEqual(once);
  });
});

describe('scopes', () => {
  test('are described by a preset, but not restricted', () => {
    const expanded = expand({ preset: 'github' });
    expect(expanded).not.toHaveProperty('scopes');
    expect(expanded['scopeDescriptions']).toMatchObject({ repo: { access: 'delete' } });
  });

  test('as a list are the only allowed scopes, with the access of the preset', () => {
    const expanded = expand({ preset: 'github', scopes: ['read:user', 'delete_repo'] });
    expect(expanded['scopes']).toEqual({ 'read:user': { access: 'see' }, delete_repo: { access: 'delete' } });
  });

  test.each([
    ['Repositories', { text: 'Repositories', access: 'delete' }],
    [
      { en: 'Repositories', de: 'Repositorys' },
      { text: { en: 'Repositories', de: 'Repositorys' }, access: 'delete' },
    ],
    [{ text: 'Repositories' }, { text: 'Repositories', access: 'delete' }],
    [{ access: 'change' }, { access: 'change' }],
    [4, 4],
    [null, null],
  ])('keep the access of the preset unless the operator sets it: %j', (own, described) => {
    const expanded = expand({ preset: 'github', scopeDescriptions: { repo: own, constructor: own } });
    expect(expanded['scopeDescriptions']).toMatchObject({ repo: described, constructor: own });
  });

  test('as a list may use texts that the operator adds', () => {
    const expanded = expand({
      preset: 'okta',
      presetValues: { domain: 'acme.okta.com' },
      scopes: ['orders'],
      scopeDescriptions: { orders: 'See your orders' },
    });
    expect(expanded['scopes']).toEqual({ orders: 'See your orders' });
  });

  test('as a list are refused if the preset has no text for them', () => {
    expect(faultPaths({ preset: 'github', scopes: ['read:user', 'unheard:of', 'toString', 4] })).toEqual([
      'scopes.1',
      'scopes.2',
      'scopes.3',
    ]);
  });

  test('as a map are the only allowed scopes', () => {
    expect(expand({ preset: 'github', scopes: { repo: 'Code' } })['scopes']).toEqual({ repo: 'Code' });
  });
});

describe('an invalid configuration', () => {
  test.each([['unheard-of'], [4], [null], ['constructor'], ['GitHub']])('names an unknown preset: %j', preset => {
    expect(faultPaths({ ...registration, preset })).toEqual(['preset']);
  });

  test('lacks a preset value', () => {
    expect(faultPaths({ preset: 'keycloak', presetValues: { host: 'id.acme.example' } })).toEqual([
      'presetValues.realm',
    ]);
    expect(faultPaths({ preset: 'keycloak' })).toEqual(['presetValues.host', 'presetValues.realm']);
  });

  test('has an unknown preset value', () => {
    expect(faultPaths({ preset: 'github', presetValues: { host: 'github.acme.example' } })).toEqual([
      'presetValues.host',
    ]);
    expect(faultPaths({ preset: 'github', presetValues: { toString: 'x' } })).toEqual(['presetValues.toString']);
  });

  test.each([['text'], [[]], [null]])('has presetValues that are not an object: %j', presetValues => {
    expect(faultPaths({ preset: 'okta', presetValues })).toContain('presetValues');
  });

  test('has a preset value that is not a string', () => {
    expect(faultPaths({ preset: 'okta', presetValues: { domain: 4 } })).toEqual(['presetValues.domain']);
  });

  test.each(['acme.okta.com/evil', 'evil.example#', 'user@evil.example', 'https://acme.okta.com'])(
    'has a preset value with more than a host: %s',
    domain => {
      expect(faultPaths({ preset: 'okta', presetValues: { domain } })).toEqual(['presetValues.domain']);
    },
  );

  test('is reported by the names of values, without quoting them', () => {
    const { error } = expanding.safeParse({ preset: 'okta', presetValues: { domain: 'secret@evil.example' } });
    expect(JSON.stringify(error?.issues.map(issue => issue.message))).not.toContain('secret');
  });

  test('is not validated further', () => {
    const { error } = z.preprocess(expandPreset, providerConfigSchema).safeParse({ preset: 'unheard-of' });
    expect(error?.issues.map(issue => issue.path.join('.'))).toEqual(['preset']);
  });
});

test('preset values replace every placeholder and leave other braces unchanged', () => {
  const expanded = expand({ preset: 'github-enterprise', presetValues: { host: 'git.acme.example:8443' } });
  expect(expanded).toMatchObject({
    authorizationEndpoint: 'https://git.acme.example:8443/login/oauth/authorize',
    revocation: { endpoint: 'https://git.acme.example:8443/api/v3/applications/{clientId}/token' },
  });
});

test('a preset value is optional if the preset has a default', () => {
  expect(expand({ preset: 'gitlab' })['issuer']).toBe('https://gitlab.com');
  expect(expand({ preset: 'gitlab', presetValues: { host: 'git.acme.example' } })['issuer']).toBe(
    'https://git.acme.example',
  );
});

test('the expanded configuration passes validation', () => {
  const config = providerConfigSchema.parse(expand({ preset: 'slack' }));
  expect(config).toMatchObject({ name: 'code', displayName: 'Slack', pkce: 'unsupported' });
});

const host: Placeholder = { kind: 'host', port: false, help: 'h', example: 'acme.okta.com' };
const hostWithPort: Placeholder = { ...host, port: true };
const slug: Placeholder = { kind: 'slug', help: 'h', example: 'acme' };
const uuid: Placeholder = { kind: 'uuid', help: 'h', example: '11111111-2222-4333-8444-555555555555' };
const choice: Placeholder = { kind: 'choice', choices: ['common', 'consumers'], help: 'h', example: 'common' };

describe('a valid value', () => {
  test.each([
    [host, 'acme.okta.com'],
    [host, 'ACME.okta.com'],
    [host, 'xn--bcher-kva.example'],
    [hostWithPort, 'id.acme.example:8443'],
    [slug, 'acme-2'],
    [slug, 'my_realm'],
    [uuid, '11111111-2222-4333-8444-555555555555'],
    [choice, 'consumers'],
  ])('of the placeholder %j: %s', (placeholder, value) => {
    expect(placeholderValueFault(placeholder, value)).toBeUndefined();
  });
});

const smuggled = [
  '',
  ' ',
  'acme.okta.com/evil',
  'acme.okta.com/../x',
  'acme.okta.com?x',
  'acme.okta.com#x',
  'evil.example#acme.okta.com',
  'user@acme.okta.com',
  'user:password@evil.example',
  'https://acme.okta.com',
  '//acme.okta.com',
  'acme.okta.com\\evil.example',
  'acme.okta.com%2fevil',
  'acme.okta.com\n',
  'acme.okta.com\tx',
  'acme..okta.com',
  '.acme.okta.com',
  'acme.okta.com.',
  '-acme.okta.com',
  'acme．okta.com',
  'аcme.okta.com',
  '127.0.0.1',
  '0x7f.1',
  '2130706433',
  '[::1]',
  '{clientId}',
  '*.okta.com',
  '..',
];

describe('an invalid value', () => {
  test.each(smuggled)('is not a host: %j', value => {
    expect(placeholderValueFault(host, value)).toBeTypeOf('string');
    expect(placeholderValueFault(hostWithPort, value)).toBeTypeOf('string');
  });

  test.each([...smuggled, 'acme.okta', 'acme/evil', 'acme.evil.example', 'acme:443'])('is not a slug: %j', value => {
    if (value === '2130706433') return expect(placeholderValueFault(slug, value)).toBeUndefined();
    expect(placeholderValueFault(slug, value)).toBeTypeOf('string');
  });

  test.each(['acme.example:', 'acme.example:0', 'acme.example:65536', 'acme.example:443:443', 'acme.example:4 4'])(
    'has an invalid port: %j',
    value => {
      expect(placeholderValueFault(hostWithPort, value)).toBeTypeOf('string');
    },
  );

  test('has a port that the placeholder does not allow', () => {
    expect(placeholderValueFault(host, 'acme.example:8443')).toBeTypeOf('string');
  });

  test('is a host of another domain', () => {
    const within: Placeholder = { ...host, within: ['salesforce.com'] };
    expect(placeholderValueFault(within, 'acme.my.salesforce.com')).toBeUndefined();
    expect(placeholderValueFault(within, 'Login.Salesforce.com')).toBeUndefined();
    for (const value of ['salesforce.com.evil.example', 'evilsalesforce.com', 'evil.example']) {
      expect(placeholderValueFault(within, value)).toBeTypeOf('string');
    }
  });

  test('is not one of the choices', () => {
    expect(placeholderValueFault(choice, 'organizations')).toBeTypeOf('string');
  });

  test('is the name of a tenant instead of its UUID', () => {
    expect(placeholderValueFault(uuid, 'common')).toBeTypeOf('string');
  });
});

test('every accepted value stays within its host or path segment', () => {
  const hostile = [...'aZ0-._:/\\?#@%[]{}*&=;,|^"\'<> \n\t\0é．。'];
  const insertions = ['', ...hostile, ...hostile.flatMap(first => hostile.map(second => first + second))];
  let taken = 0;
  for (const insertion of insertions) {
    for (const position of [0, 2, 4, 5, 8]) {
      const value = `acme${position > 4 ? '.app' : ''}`.slice(0, position) + insertion + 'acme.app'.slice(position);
      if (placeholderValueFault(hostWithPort, value) === undefined) {
        const url = new URL(`https://${value}/realms/x`);
        expect([url.host, `${url.host}:443`]).toContain(value.toLowerCase());
        expect(url.href).toBe(`https://${url.host}/realms/x`);
        taken += 1;
      }
      const segment = 'acme'.slice(0, position) + insertion + 'acme'.slice(position);
      if (placeholderValueFault(slug, segment) === undefined) {
        expect(new URL(`https://id.example/${segment}/x`).href).toBe(`https://id.example/${segment}/x`);
        expect(new URL(`https://${segment}.example/x`).host).toBe(`${segment.toLowerCase()}.example`);
        taken += 1;
      }
    }
  }
  expect(taken).toBeGreaterThan(50);
});
