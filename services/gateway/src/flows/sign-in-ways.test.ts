import { randomBytes } from 'node:crypto';
import { identityProviderConfigSchema } from '@postern/authorization';
import { newElicitationId, shardOf, systemEntropy } from '@postern/elicitation';
import { expect, it } from 'vitest';
import { registerMcpServer } from '../registered-mcp-server.ts';
import { sharedSecretOf } from '../shared-secret.ts';
import { createFlowStage } from '../testing/flow-stage.ts';
import { createSignInWays } from './sign-in-ways.ts';

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
  signIn: { start: never, finish: never },
}));
const external = { mode: 'external', verifyUrl: 'https://app.example/verify' } as const;
const mcpServers = new Map(
  [
    { ...config, issuers, identity: { mode: 'login' } as const },
    { ...config, id: 'app', identity: external },
  ].map(each => [each.id, registerMcpServer(each, quota)]),
);
const waysWith = (secret: string) =>
  createSignInWays({ mcpServers, identityProviders, secret: new TextEncoder().encode(secret) });
const unknown = Array.from({ length: 100 }, newId);
const choices = (secret: string) => unknown.map(id => JSON.stringify(waysWith(secret).of(id, undefined)));

it('S76: an unknown id goes one of all configured ways, the same on every replica, which nobody without the secret can tell', () => {
  expect(new Set(choices('secret')).size).toBe(3);
  expect(choices('secret')).toEqual(choices('secret'));
  expect(choices('secret')).not.toEqual(choices('another'));
});

it('S76: no way exists where every MCP server is for a machine of one person', () => {
  const alone = new Map([[config.id, registerMcpServer({ ...config, identity: { mode: 'loopback' } }, quota)]]);
  const ways = createSignInWays({ mcpServers: alone, identityProviders, secret: randomBytes(32) });
  expect(ways.exist).toBe(false);
  expect(ways.of(newId(), undefined)).toBeUndefined();
});

it('takes the secret from the last vault key, or from the key of pseudonyms where those stay in a key service', () => {
  const [first, last, pseudonymKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const vault = {
    keys: [
      { kid: 'new', key: first },
      { kid: 'old', key: last },
    ],
  };
  const audit = { stream: false, retained: 100 };
  expect(sharedSecretOf({ vault, audit }, false)).toBe(last);
  expect(sharedSecretOf({ vault, audit: { ...audit, pseudonymKey } }, true)).toBe(pseudonymKey);
  expect(() => sharedSecretOf({ vault, audit }, true)).toThrow('audit.pseudonymKey');
});
