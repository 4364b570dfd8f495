import { expect, it } from 'vitest';
import { providerFrom, redirectUri } from '../connect-fixture.ts';
import { recorder } from '../outbound-fetch-fixture.ts';

const answer = {
  device_code: 'device-code',
  user_code: 'WDJB-MJHT',
  verification_uri: 'https://as.example/activate',
  expires_in: 900,
};

it.each([
  [{}, { scope: 'read write' }],
  [{ requestScopeSeparator: ',' }, { scope: 'read,write' }],
  [{ scopeParameter: 'user_scope', requestScopeSeparator: ',' }, { user_scope: 'read,write' }],
] as const)('S19: scopes are asked for as in authorization requests (%j)', async (changes, expected) => {
  const { asked, fetch } = recorder(200, answer);
  const at = providerFrom(
    {
      ...{ flow: 'device', tokenEndpoint: 'https://as.example/token' },
      deviceAuthorizationEndpoint: 'https://as.example/device',
      ...changes,
    },
    { fetch },
  );
  await at.startDevice({ redirectUri, scopes: ['read', 'write'] });
  const form = Object.fromEntries(new URLSearchParams(String(asked[0]?.body)));
  expect(form).toEqual({ client_id: 'postern', ...expected });
});
