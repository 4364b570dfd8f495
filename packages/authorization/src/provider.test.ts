import {
  createCookieJar,
  driveAuthorization,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOutboundFetch } from './outbound-fetch.ts';
import { providerConfigSchema } from './provider-config.ts';
import { createProviderRegistry } from './provider-registry.ts';

const redirectUri = new URL('http://127.0.0.1:1/callback/issues/tracker');
const state = 'state-of-this-transaction';

describe('authorization at a real provider', () => {
  let op: TestProvider;
  const fetch = createOutboundFetch({ allowLoopback: true });
  beforeAll(async () => {
    op = await startOpenIdProvider({
      scopes: ['repo', 'gist'],
      clients: [{ clientId: 'postern', clientSecret: 'secret of postern', redirectUris: [redirectUri.href] }],
    });
  });
  afterAll(async () => {
    await op.close();
    await fetch.close();
  });

  it('goes from start to grant', async () => {
    const registry = createProviderRegistry({
      providers: [
        providerConfigSchema.parse({
          name: 'tracker',
          displayName: 'Tracker',
          issuer: op.issuer,
          clientId: 'postern',
          clientSecret: 'secret of postern',
          account: { from: 'id_token', nameClaim: 'preferred_username' },
        }),
      ],
      fetch,
      now: Date.now,
    });
    const provider = registry.get('tracker');
    if (!provider) throw new Error('not there');
    const start = await provider.start({ redirectUri, state, scopes: ['repo', 'profile'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice', { jar: createCookieJar() });
    const grant = await provider.finish({ ...start, callbackUrl, redirectUri, state, scopes: ['repo', 'profile'] });
    expect(grant.account?.id).toBe('alice');
  });
});
