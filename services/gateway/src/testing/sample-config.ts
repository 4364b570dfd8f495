import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createPseudonyms } from '../platform/audit/audit-log.ts';
import type { GatewayConfigInput } from '../platform/config/config-schema.ts';

export const hashOf = (key: string): string => `sha256:${createHash('sha256').update(key).digest('hex')}`;

export const samplePseudonyms = createPseudonyms(new Uint8Array(32));

export const sampleMcpServer = {
  id: 'tracker',
  name: 'Issue Tracker',
  url: 'https://tracker.example/mcp',
  apiKeys: [{ hash: hashOf('pk_tracker') }],
  providers: ['forge'],
  issuers: ['https://id.example'],
} satisfies GatewayConfigInput['mcpServers'][number];

export const sampleConsole = {
  publicUrl: 'https://console.example',
  listen: { port: 8090 },
  identityProvider: { issuer: 'https://id.example', clientId: 'postern-console', clientSecret: 's' },
  roles: { claim: 'groups', operator: ['postern-operators'] },
} satisfies GatewayConfigInput['console'];

/** A fixed key, for configurations whose vault keys are all in a key service. */
export const sampleReceipts = {
  keys: [
    {
      kid: 'receipts-1',
      // The published example key of RFC 8037, appendix A.1.
      key: JSON.stringify({
        kty: 'OKP',
        crv: 'Ed25519',
        d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
        x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
      }),
    },
  ],
} satisfies GatewayConfigInput['receipts'];

/** A minimal valid configuration. */
export function sampleConfig(overrides: Partial<GatewayConfigInput> = {}): GatewayConfigInput {
  return {
    publicUrl: 'https://gate.example',
    redis: { url: 'redis://redis.example:6379' },
    vault: { keys: [{ kid: 'first', key: randomBytes(32).toString('base64') }] },
    identityProviders: [{ name: 'example-id', issuer: 'https://id.example', clientId: 'postern', clientSecret: 's' }],
    providers: [{ name: 'forge', displayName: 'Code Forge', issuer: 'https://forge.example', clientId: 'postern' }],
    mcpServers: [sampleMcpServer],
    ...overrides,
  };
}

/** As {@link sampleConfig}, of a gateway for one person, which keeps its state in a file of the folder. Each call has another vault key. */
export function sampleFileConfig(folder: string, overrides: Partial<GatewayConfigInput> = {}): GatewayConfigInput {
  const { redis: _, identityProviders: __, ...sample } = sampleConfig();
  return {
    ...sample,
    publicUrl: 'http://localhost:8080',
    store: { file: join(folder, 'postern.sqlite') },
    mcpServers: [{ ...sampleMcpServer, identity: { mode: 'loopback' } }],
    ...overrides,
  };
}
