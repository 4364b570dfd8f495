import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { scopePolicy } from '../scope-policy.ts';
import { providerFrom } from '../testing/connect-fixture.ts';
import { recorder } from '../testing/outbound-fetch-fixture.ts';
import { parseTokenResponse, validateTokenResponse } from '../token-request.ts';
import { accountFrom } from '../user-claims.ts';
import { expandPreset, providerConfigSchema } from './expand-preset.ts';
import { presets } from './index.ts';

const schema = z.preprocess(expandPreset, providerConfigSchema);

function configOf(name: string) {
  const placeholders = presets.find(preset => preset.name === name)?.placeholders ?? {};
  const values = Object.entries(placeholders).map(([value, { example }]) => [value, example]);
  return schema.parse({
    name: 'provider',
    clientId: 'client',
    clientSecret: 'x'.repeat(40),
    preset: name,
    ...(values.length > 0 && { presetValues: Object.fromEntries(values) }),
  });
}

function read(name: string, answer: object | string, status = 200) {
  const isForm = typeof answer === 'string';
  return parseTokenResponse(
    {
      status,
      contentType: isForm ? 'application/x-www-form-urlencoded; charset=utf-8' : 'application/json; charset=utf-8',
      body: isForm ? answer : JSON.stringify(answer),
    },
    configOf(name).tokenResponse,
  );
}

/** Returns the grant that a token response yields. */
function granted(name: string, answer: object | string, asked: readonly string[]) {
  const config = configOf(name);
  const tokens = read(name, answer);
  if (tokens?.kind !== 'tokens') throw new Error('no tokens in the response');
  const response = validateTokenResponse(tokens.members, 'bearer', config.tokenResponse);
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token,
    expiresIn: response.expires_in,
    scopes: scopePolicy(config).granted(response.scope, asked),
    ...(config.account?.from === 'token_response' && { account: accountFrom(tokens.all, config.account) }),
  };
}

describe('a documented token response is parsed', () => {
  test('github: form-encoded, scopes with commas, implied scopes omitted', () => {
    const answer = 'access_token=gho_1&scope=gist%2Cuser&token_type=bearer';
    expect(granted('github', answer, ['gist', 'user:email'])).toEqual({
      accessToken: 'gho_1',
      refreshToken: undefined,
      expiresIn: undefined,
      scopes: ['gist', 'user', 'read:user', 'user:email', 'user:follow'],
    });
  });

  test('github-app: JSON, no scopes, numbers as numbers', () => {
    const answer = {
      access_token: 'ghu_1',
      expires_in: 28_800,
      refresh_token: 'ghr_1',
      refresh_token_expires_in: 15_811_200,
      scope: '',
      token_type: 'bearer',
    };
    expect(granted('github-app', answer, [])).toMatchObject({ expiresIn: 28_800, refreshToken: 'ghr_1', scopes: [] });
  });

  test('slack: ok, a custom token type, the account in authed_user', () => {
    const answer = {
      ok: true,
      access_token: 'xoxe.xoxp-1',
      token_type: 'user',
      scope: 'channels:read,chat:write',
      expires_in: 43_200,
      refresh_token: 'xoxe-1',
      authed_user: { id: 'U1' },
      team: { id: 'T1', name: 'Acme' },
    };
    expect(granted('slack', answer, ['chat:write'])).toEqual({
      accessToken: 'xoxe.xoxp-1',
      refreshToken: 'xoxe-1',
      expiresIn: 43_200,
      scopes: ['channels:read', 'chat:write'],
      account: { id: 'U1', name: 'Acme' },
    });
  });

  test('shopify: no token type, read scopes omitted', () => {
    const answer = {
      access_token: 'shpat_1',
      scope: 'write_products,read_orders',
      expires_in: 3600,
      refresh_token: 'r',
    };
    expect(granted('shopify', answer, ['read_products', 'write_products'])).toMatchObject({
      accessToken: 'shpat_1',
      scopes: ['write_products', 'read_orders', 'read_products'],
    });
  });

  test('bitbucket: scopes in another member', () => {
    const answer = { access_token: 'b', token_type: 'bearer', scopes: 'account pullrequest:write', expires_in: 7200 };
    expect(granted('bitbucket', answer, ['repository']).scopes).toEqual([
      'account',
      'pullrequest:write',
      'pullrequest',
      'repository:write',
      'repository',
    ]);
  });

  test('hubspot: scopes as a list in another member', () => {
    const answer = {
      access_token: 'h',
      token_type: 'bearer',
      refresh_token: 'r',
      expires_in: 1800,
      hub_id: 62_515,
      scopes: ['oauth', 'crm.objects.contacts.read'],
    };
    const asked = ['oauth', 'crm.objects.contacts.read', 'crm.objects.contacts.write'];
    expect(granted('hubspot', answer, asked).scopes).toEqual(['oauth', 'crm.objects.contacts.read']);
  });

  test('twitch: scopes as a list', () => {
    const answer = { access_token: 't', token_type: 'bearer', scope: ['user:read:email'], expires_in: 14_000 };
    expect(granted('twitch', answer, ['openid', 'user:read:email']).scopes).toEqual(['user:read:email', 'openid']);
  });

  test('notion: null for absent members, the account as owner', () => {
    const answer = {
      access_token: 'ntn_1',
      token_type: 'bearer',
      refresh_token: null,
      bot_id: 'b',
      owner: { type: 'user', user: { object: 'user', id: 'u-1', name: 'Ada' } },
    };
    expect(granted('notion', answer, [])).toMatchObject({
      refreshToken: undefined,
      account: { id: 'u-1', name: 'Ada' },
    });
  });

  test('google: long names for short ones', () => {
    const long = 'https://www.googleapis.com/auth/';
    const answer = {
      access_token: 'ya29',
      token_type: 'Bearer',
      expires_in: 3599,
      scope: `openid ${long}userinfo.email ${long}calendar`,
    };
    expect(granted('google', answer, ['openid', 'email', `${long}calendar.readonly`]).scopes).toEqual(
      expect.arrayContaining([
        'openid',
        'email',
        `${long}calendar`,
        `${long}calendar.readonly`,
        `${long}calendar.events`,
      ]),
    );
  });

  test('salesforce and monday: the configured lifetime, because the response has none', () => {
    expect(granted('salesforce', { access_token: 's', token_type: 'Bearer', scope: 'api' }, ['api'])).toMatchObject({
      expiresIn: 3600,
    });
    expect(granted('monday', { access_token: 'm', token_type: 'Bearer', scope: 'me:read' }, [])).toMatchObject({
      expiresIn: 3600,
    });
  });

  test('linkedin: commas', () => {
    const answer = { access_token: 'l', expires_in: 5_184_000, scope: 'email,openid,profile' };
    expect(granted('linkedin', answer, ['email']).scopes).toEqual(['email', 'openid', 'profile']);
  });

  test.each([
    ['asana', { data: { gid: '12', name: 'Ada' } }, { id: '12', name: 'Ada' }],
    ['dropbox', { account_id: 'dbid:1', uid: '1' }, { id: 'dbid:1' }],
    ['stripe', { stripe_user_id: 'acct_1' }, { id: 'acct_1' }],
  ])('%s: the account', (name, members, account) => {
    expect(granted(name, { access_token: 't', token_type: 'bearer', ...members }, [])).toMatchObject({ account });
  });
});

describe('an error in a response with status 200', () => {
  test.each([
    ['github', { error: 'bad_verification_code', error_description: 'x' }, 'bad_verification_code'],
    ['github', 'error=bad_refresh_token&error_description=x', 'bad_refresh_token'],
    ['slack', { ok: false, error: 'invalid_refresh_token' }, 'invalid_refresh_token'],
    ['slack', { ok: false }, ''],
    ['slack', { access_token: 'x', token_type: 'user' }, ''],
  ])('%s %j', (name, answer, code) => {
    expect(read(name, answer)).toEqual({ kind: 'error', code });
  });
});

test.each(['github', 'github-app', 'github-enterprise'])(
  'S24: %s revokes with the client as HTTP Basic',
  async name => {
    const { asked, fetch } = recorder(204);
    const values = name === 'github-enterprise' ? { presetValues: { host: 'git.acme.example' } } : {};
    const at = providerFrom({ preset: name, clientSecret: 'secret', ...values }, { fetch });
    const redirectUri = new URL('https://postern.example/callback/issues/tracker');
    expect(
      await at.revoke({
        accessToken: 'gho_1',
        refreshToken: 'ghr_1',
        redirectUri,
        issuer: undefined,
        clientId: 'postern',
      }),
    ).toBe('access_token_revoked');
    expect(asked).toMatchObject([{ method: 'DELETE', body: '{"access_token":"gho_1"}' }]);
    expect(new Headers(asked[0]?.headers).get('authorization')).toBe(`Basic ${btoa('postern:secret')}`);
  },
);

test.each([
  { object: 'error', status: 400, code: 'invalid_grant', message: 'x' },
  { error: 'invalid_grant', error_description: 'x' },
])('notion: %j', answer => {
  expect(read('notion', answer, 400)).toEqual({ kind: 'error', code: 'invalid_grant' });
});

describe('the error codes that end a grant, in addition to invalid_grant', () => {
  test.each([
    ['github', ['bad_refresh_token']],
    ['atlassian', ['unauthorized_client']],
    ['microsoft-entra', ['interaction_required']],
    ['slack', ['invalid_refresh_token', 'token_revoked', 'token_expired', 'account_inactive']],
  ])('%s', (name, codes) => {
    expect(configOf(name).tokenResponse?.refusedErrors).toEqual(codes);
  });

  test('do not exist at any other provider', () => {
    const refusing = presets.filter(({ name }) => (configOf(name).tokenResponse?.refusedErrors ?? []).length > 0);
    expect(refusing.map(({ name }) => name)).toEqual([
      'atlassian',
      'github',
      'github-app',
      'github-enterprise',
      'microsoft',
      'microsoft-entra',
      'slack',
    ]);
  });
});

describe('S192: scopes in another spelling than they were requested in', () => {
  const microsoft = ['microsoft', 'microsoft-entra'].flatMap(name => [
    [name, 'https://graph.microsoft.com/Calendars.ReadWrite', 'Calendars.ReadWrite'],
    [name, 'profile openid email calendars.readwrite', 'Calendars.ReadWrite'],
    [name, '00000003-0000-0000-c000-000000000000/Calendars.ReadWrite', 'Calendars.ReadWrite'],
    [name, 'Calendars.ReadWrite', 'https://graph.microsoft.com/Calendars.ReadWrite'],
    [name, 'Calendars.ReadWrite', 'https://graph.microsoft.com/Calendars.Read'],
    [name, 'User.Read', 'https://graph.microsoft.com/.default'],
    [
      name,
      'api://11111111-2222-4333-8444-555555555555/Orders.Read',
      'api://11111111-2222-4333-8444-555555555555/.default',
    ],
    [name, 'User.Read', 'offline_access'],
    [name, 'User.Read', 'profile'],
  ]);

  test.each([
    ...microsoft,
    ['google', 'https://www.googleapis.com/auth/userinfo.email', 'email'],
    ['google', 'https://www.googleapis.com/auth/userinfo.profile', 'profile'],
    ['google', 'https://www.googleapis.com/auth/userinfo.email', 'openid'],
    ['salesforce', 'api', 'refresh_token'],
    ['shopify', 'write_products', 'read_products'],
    ['okta', 'openid profile', 'offline_access'],
  ])('%s reports %s, and %s is granted', (name, scope, asked) => {
    const { scopes } = granted(name, { access_token: 't', scope }, [asked]);
    expect(scopes).toContain(asked);
  });

  test.each([
    ['microsoft', 'https://outlook.office.com/Calendars.ReadWrite', 'Calendars.ReadWrite'],
    ['microsoft', 'https://graph.microsoft.us/Calendars.ReadWrite', 'Calendars.ReadWrite'],
    ['microsoft', 'Calendars.Read', 'https://graph.microsoft.com/Calendars.ReadWrite'],
    ['google', 'https://www.googleapis.com/auth/Calendar', 'https://www.googleapis.com/auth/calendar'],
    ['github', 'https://graph.microsoft.com/repo', 'repo'],
  ])('%s reports %s, and %s is not granted', (name, scope, asked) => {
    expect(granted(name, { access_token: 't', scope }, [asked]).scopes).not.toContain(asked);
  });
});
