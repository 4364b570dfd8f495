import { AuthorizationError, identityProviderConfigSchema } from '@postern/authorization';
import { systemEntropy } from '@postern/elicitation';
import type { FastifyReply } from 'fastify';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createBrowser } from '../pages/browser.ts';
import { createProviderLogout } from './provider-logout.ts';

const publicUrl = 'https://gate.example';
const never = () => Promise.reject(new Error('not asked'));

function offerOf(endSessionUrl: () => Promise<URL | undefined>) {
  const setCookie = vi.fn();
  const config = identityProviderConfigSchema.parse({ name: 'id', issuer: 'https://id.example', clientId: 'postern' });
  const providerLogout = createProviderLogout({
    deps: {
      config: { publicUrl },
      identityProviders: [{ config, signIn: { start: never, finish: never, endSessionUrl } }],
      stores: { oneTime: { claim: never } },
      entropy: systemEntropy,
    },
    browser: createBrowser({
      ...{ publicUrl, entropy: systemEntropy },
      browserSessions: { read: never, touch: never, end: never },
    }),
  });
  const reply = { setCookie } as unknown as FastifyReply;
  return {
    setCookie,
    of: (origin: { identityProvider: string } | { vouchedBy: string }) => providerLogout.offer(reply, { origin }),
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('S172: an identity provider that does not respond delays the page after a sign-out by two seconds', async () => {
  const hanging = offerOf(() => new Promise(() => {}));
  const offered: unknown[] = [];
  hanging.of({ identityProvider: 'id' }).then(href => offered.push(href));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(offered).toEqual([undefined]);
  expect(hanging.setCookie).not.toHaveBeenCalled();
});

it('S172: an identity provider that is unavailable or has no end_session_endpoint is not offered', async () => {
  const unavailable = offerOf(() => Promise.reject(new AuthorizationError('provider_unavailable')));
  expect(await unavailable.of({ identityProvider: 'id' })).toBeUndefined();
  const without = offerOf(async () => undefined);
  expect(await without.of({ identityProvider: 'id' })).toBeUndefined();
  expect(without.setCookie).not.toHaveBeenCalled();
});

it('S172: a user whom an application vouched for, or whose identity provider was removed, is offered none', async () => {
  const offer = offerOf(never);
  expect(await offer.of({ vouchedBy: 'tracker' })).toBeUndefined();
  expect(await offer.of({ identityProvider: 'removed' })).toBeUndefined();
});

it('S173: keeps the state in a cookie that is bound to this host and hidden from scripts', async () => {
  const offer = offerOf(async () => new URL('https://id.example/end'));
  expect(await offer.of({ identityProvider: 'id' })).toBe('https://id.example/end');
  expect(offer.setCookie).toHaveBeenCalledWith('__Host-postern_logout', expect.stringMatching(/^[\w-]{43}$/), {
    ...{ path: '/', httpOnly: true, sameSite: 'lax', secure: true, maxAge: 600 },
  });
});
