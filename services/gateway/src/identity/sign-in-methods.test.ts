import { randomBytes } from 'node:crypto';
import { identityProviderConfigSchema } from '@postern/authorization';
import { newElicitationId, shardOf, systemEntropy } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { expect, it } from 'vitest';
import { registerMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { sharedSecretOf } from '../platform/config/vault-config.ts';
import { createFlowStage } from '../testing/flow-stage.ts';
import { createSignInMethods } from './sign-in-methods.ts';

const stage = createFlowStage({});
const {
  config,
  limits: { quota },
} = stage.caller();
const newId = () => newElicitationId(shardOf(stage.subject), systemEntropy);
const never = () => Promise.reject(new Error('not asked'));
const issuers = ['https://a.example', 'https://b.example'];
const identityProviders = issuers.map((issuer, at) => ({
  config: identityProviderConfigSchema.parse({ name: `id-${at}`, issuer, clientId: 'postern', clientSecret: 's' }),
  signIn: { start: never, finish: never, endSessionUrl: never },
}));
const external = { mode: 'external', verifyUrl: 'https://app.example/verify' } as const;
const mcpServers = new Map(
  [
    { ...config, issuers, identity: { mode: 'login' } as const },
    { ...config, id: 'app', identity: external },
  ].map(each => [each.id, registerMcpServer(each, quota)]),
);
const methodsWith = (secret: string) =>
  createSignInMethods({ mcpServers, identityProviders, secret: new TextEncoder().encode(secret) });
const unknown = Array.from({ length: 100 }, newId);
const choices = (secret: string) => unknown.map(id => JSON.stringify(methodsWith(secret).of(id, undefined)));

it('S76: an unknown id gets one of all configured methods, the same on every replica and unpredictable without the secret', () => {
  expect(new Set(choices('secret')).size).toBe(3);
  expect(choices('secret')).toEqual(choices('secret'));
  expect(choices('secret')).not.toEqual(choices('another'));
});

it('S194: users of every allowed tenant sign in at the identity provider that names it', async () => {
  const tenants = ['11111111-2222-4333-8444-555555555555', '22222222-2222-4333-8444-555555555555'];
  const entra = identityProviderConfigSchema.parse({
    name: 'entra',
    issuer: 'https://id.example/{tenantid}/v2.0',
    clientId: 'postern',
    clientSecret: 's',
    metadataUrl: 'https://id.example/organizations/metadata',
    tenants,
  });
  const ofTenants = tenants.map(tenant => `https://id.example/${tenant}/v2.0`);
  const mcpServer = registerMcpServer({ ...config, issuers: ofTenants, identity: { mode: 'login' } }, quota);
  const methods = createSignInMethods({
    mcpServers: new Map([[config.id, mcpServer]]),
    identityProviders: [
      ...identityProviders,
      { config: entra, signIn: { start: never, finish: never, endSessionUrl: never } },
    ],
    secret: randomBytes(32),
  });
  for (const issuer of ofTenants) {
    const asked = samples.ask({ issuer, subject: 'alice' });
    const elicitation = { ...(await samples.created(stage.stores.elicitations, asked)), mcpServerId: config.id };
    const method = methods.of(elicitation.elicitationId, elicitation);
    expect(method?.mode === 'login' && method.identityProvider.config.name).toBe('entra');
  }
});

it('S76: no method is available if every MCP server is in loopback mode', () => {
  const alone = new Map([[config.id, registerMcpServer({ ...config, identity: { mode: 'loopback' } }, quota)]]);
  const methods = createSignInMethods({ mcpServers: alone, identityProviders, secret: randomBytes(32) });
  expect(methods.available).toBe(false);
  expect(methods.of(newId(), undefined)).toBeUndefined();
});

it('takes the secret from the last local vault key, or from the transaction key', () => {
  const [first, last, transactionKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const keys = [
    { kid: 'new', key: first },
    { kid: 'old', key: last },
  ];
  const inModule = { kid: 'kms', service: 'module' as const, key: 'a', module: 'a.mjs' };
  const keyServices = { cachedKeys: 1, cacheSeconds: 1, timeoutSeconds: 1 };
  expect(sharedSecretOf({ vault: { keys, keyServices } })).toBe(last);
  expect(sharedSecretOf({ vault: { keys: [...keys, inModule], keyServices, transactionKey } })).toBe(transactionKey);
  expect(() => sharedSecretOf({ vault: { keys: [inModule], keyServices } })).toThrow(TypeError);
});
