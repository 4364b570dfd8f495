import { UnsecuredJWT } from 'jose';
import { expect, test } from 'vitest';
import { resolvePrincipal } from './tool-call.ts';

const alice = { issuer: 'https://idp.example.com', subject: 'alice' };
const unavailable = { code: 'subject_unavailable' };
const token = new UnsecuredJWT({ iss: alice.issuer, sub: alice.subject }).encode();

test('default: uses iss and sub that the token verifier stored in extra', async () => {
  const authInfo = { token: 'opaque', extra: { iss: alice.issuer, sub: alice.subject } };
  expect(await resolvePrincipal(undefined, { authInfo }, {})).toEqual({ ...alice, input: alice });
});

test.each([
  undefined,
  { token },
  { token, extra: { sub: 'alice' } },
  { token, extra: { iss: alice.issuer, sub: '' } },
  { token, extra: { iss: alice.issuer, sub: 7 } },
])('default: never guesses from %j', async authInfo => {
  await expect(resolvePrincipal(undefined, { authInfo }, {})).rejects.toMatchObject(unavailable);
});

test('access-token: forwards the token for the gateway to verify, bound by its claims', async () => {
  expect(await resolvePrincipal('access-token', { authInfo: { token } }, {})).toEqual({
    ...alice,
    input: { accessToken: token },
  });
});

test.each([undefined, { token: 'opaque-token' }, { token: new UnsecuredJWT({ iss: alice.issuer }).encode() }])(
  'access-token: refuses %j and does not quote it',
  async authInfo => {
    const error = await resolvePrincipal('access-token', { authInfo }, {}).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(unavailable);
    expect(String(error)).not.toContain(authInfo?.token ?? 'opaque-token');
    expect(error).not.toHaveProperty('cause');
  },
);

test('a fixed subject refuses requests with an access token', async () => {
  expect(await resolvePrincipal(alice, { authInfo: undefined }, {})).toEqual({ ...alice, input: alice });
  await expect(resolvePrincipal(alice, { authInfo: { token } }, {})).rejects.toMatchObject(unavailable);
});

test('S230: a fixed subject refuses requests whose source is not checked', async () => {
  const call = { authInfo: undefined, isUncheckedHttp: true };
  await expect(resolvePrincipal(alice, call, {})).rejects.toMatchObject(unavailable);
  expect(await resolvePrincipal(() => alice, call, {})).toMatchObject(alice);
});

test('function: gets the context, and fails without a user', async () => {
  const bySession = async (context: { user?: string }) =>
    context.user === undefined ? undefined : { ...alice, subject: context.user };
  expect(await resolvePrincipal(bySession, { authInfo: undefined }, { user: 'bob' })).toMatchObject({ subject: 'bob' });
  await expect(resolvePrincipal(bySession, { authInfo: undefined }, {})).rejects.toMatchObject(unavailable);
  await expect(resolvePrincipal(bySession, { authInfo: undefined }, { user: 'has spaces' })).rejects.toMatchObject(
    unavailable,
  );
});
