import { AuthorizationError, identityProviderConfigSchema } from '@postern/authorization';
import { systemEntropy } from '@postern/elicitation';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createBrowser } from '../pages/browser-cookies.ts';
import { parseConfig } from '../platform/config/load-config.ts';
import { sampleConfig } from '../testing/sample-config.ts';
import { createProviderLogout } from './logout.ts';

const publicUrl = 'https://gate.example';
const never = () => Promise.reject(new Error('not asked'));
const end = async () => new URL('https://id.example/end');
const { vault } = parseConfig(sampleConfig());

function offerOf(endSessionUrl: () => Promise<URL | undefined>) {
  const [setCookie, clearCookie, spend] = [vi.fn(), vi.fn(), vi.fn(async () => true)];
  const config = identityProviderConfigSchema.parse({ name: 'id', issuer: 'https://id.example', clientId: 'postern' });
  const providerLogout = createProviderLogout({
    deps: {
      config: { publicUrl, vault },
      identityProviders: [{ config, signIn: { start: never, finish: never, endSessionUrl } }],
      stores: { oneTime: { spend } },
      entropy: systemEntropy,
      now: Date.now,
    },
    browser: createBrowser({
      publicUrl,
      entropy: systemEntropy,
      browserSessions: { read: never, touch: never, end: never },
    }),
  });
  const reply = { setCookie, clearCookie } as unknown as FastifyReply;
  return {
    setCookie,
    spend,
    of: (origin: { identityProvider: string } | { vouchedBy: string }) => providerLogout.offer(reply, { origin }),
    isReturn: (state: string, cookie = state) =>
      providerLogout.isReturn(
        {
          url: `/logout/callback/id?state=${state}`,
          headers: {},
          cookies: { '__Host-postern_logout': cookie },
        } as unknown as FastifyRequest,
        reply,
      ),
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
  const offer = offerOf(end);
  expect(await offer.of({ identityProvider: 'id' })).toBe('https://id.example/end');
  expect(offer.setCookie).toHaveBeenCalledWith('__Host-postern_logout', expect.stringMatching(/^[\w-]{65}$/), {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: true,
    maxAge: 600,
  });
});

it('S173: a state that the gateway did not make, or made for another browser, reaches no store', async () => {
  const offer = offerOf(end);
  const begun = async (): Promise<string> => {
    await offer.of({ identityProvider: 'id' });
    return offer.setCookie.mock.lastCall?.[1];
  };
  const [state, ofAnother] = [await begun(), await begun()];
  const others = ['x', 'A'.repeat(65), `${state}A`, `${state.slice(0, -8)}AAAAAAAA`, `AAAAAAAA${state.slice(8)}`];
  for (const other of others) expect(await offer.isReturn(other)).toBe(false);
  expect(await offer.isReturn(ofAnother, state)).toBe(false);
  expect(offer.spend).not.toHaveBeenCalled();
  expect(await offer.isReturn(state)).toBe(true);
  expect(offer.spend).toHaveBeenCalledOnce();
});
