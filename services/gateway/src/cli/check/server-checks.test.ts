import { readFileSync } from 'node:fs';
import { createOutboundFetch, identityProviderConfigSchema } from '@postern/authorization';
import { type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkIdentityProvider } from './server-checks.ts';

const page = readFileSync(new URL('../../../../../docs/keycloak-and-entra.md', import.meta.url), 'utf8').replaceAll(
  / {2,}/g,
  '  ',
);
const entraIssuer = /https:\/\/login\.microsoftonline\.com\/[0-9a-f-]{36}\/v2\.0/.exec(page)?.[0] ?? '';

let provider: EvilProvider;
const fetch = createOutboundFetch({ allowLoopback: true });
beforeAll(async () => {
  provider = await startEvilProvider({ clientId: 'postern' });
});
afterAll(async () => {
  await fetch[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
});

const keycloak = { subject_types_supported: ['public', 'pairwise'], scopes_supported: ['openid', 'profile', 'email'] };
// Of https://login.microsoftonline.com/{tenant}/v2.0/.well-known/openid-configuration
const entra = {
  subject_types_supported: ['pairwise'],
  code_challenge_methods_supported: undefined,
  scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
};

/** The last finding about an identity provider with this metadata. */
async function found(metadata: object, settings: object, of: 'users' | 'operators' = 'users') {
  Object.assign(provider.metadata, { code_challenge_methods_supported: ['S256'] }, metadata);
  const config = identityProviderConfigSchema.parse({
    name: 'company',
    issuer: provider.issuer,
    clientId: 'postern',
    clientSecret: 's',
    ...settings,
  });
  const findings = await checkIdentityProvider(config, {
    publicUrl: 'https://postern.example.com',
    of,
    fetch,
    now: Date.now,
  });
  return findings.filter(({ check }) => !check.endsWith('.redirectUri')).at(-1);
}

describe('S99: docs/keycloak-and-entra.md has the findings about', () => {
  it.each([
    ['Keycloak', keycloak, {}, 'ok'],
    ['Entra ID', entra, { allowMissingPkceMetadata: true, subjectClaim: 'tid+oid' }, 'ok'],
    ['Entra ID without PKCE in its metadata', entra, { subjectClaim: 'tid+oid' }, 'failed'],
    ['Entra ID with its sub', entra, { allowMissingPkceMetadata: true }, 'warning'],
  ])('%s', async (_, metadata, settings, status) => {
    const finding = await found(metadata, settings);
    expect(finding?.status).toBe(status);
    const shown = (finding?.message ?? '').replace(/\d+ keys/, '2 keys').replace(provider.issuer, entraIssuer);
    expect(page).toContain(`${status}  identityProvider.company  ${shown}`);
  });
});

it('operators sign in at one client, so their sub may differ elsewhere', async () => {
  expect(await found(entra, { allowMissingPkceMetadata: true }, 'operators')).toMatchObject({ status: 'ok' });
});
