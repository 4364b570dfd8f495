import { createHash } from 'node:crypto';
import type { GatewayConfigInput } from '@postern/gateway';
import type { TestProvider } from '@postern/testkit/providers';
import type { FakeStripe } from '@postern/testkit/stripe';
import { keyOf } from './api.ts';
import { paymentPolicy } from './asks.ts';
import type { McpServerInput, WorldOptions } from './world-parts.ts';

export const hashOf = (key: string): string => `sha256:${createHash('sha256').update(key).digest('hex')}`;

/** Configuration of a gateway of a world, before the changes of the test. */
export function baseConfig(p: {
  readonly options: WorldOptions;
  readonly port: number;
  readonly publicUrl: string;
  readonly state: Pick<GatewayConfigInput, 'redis' | 'store'>;
  readonly vaultKey: string;
  readonly identityProvider: TestProvider;
  readonly provider: TestProvider;
  readonly stripe: FakeStripe | undefined;
}): GatewayConfigInput {
  const { options, port, publicUrl, state, vaultKey, identityProvider, provider, stripe } = p;
  const mcpServer = (overrides: Partial<McpServerInput> & { id: string }): McpServerInput => ({
    name: 'Issue Tracker',
    url: 'http://localhost:7001/mcp',
    apiKeys: [{ hash: hashOf(keyOf(overrides.id)) }],
    providers: ['forge'],
    issuers: [identityProvider.issuer],
    ...(state.store && { identity: { mode: 'loopback' as const } }),
    ...overrides,
  });
  return {
    publicUrl,
    listen: { host: '127.0.0.1', port },
    ...state,
    // All gateways share one process here, on a busy machine.
    overload: { eventLoopDelayMs: 10_000 },
    // All requests of a test file come from one client address.
    limits: { pageRequestsPerMinute: 1_000_000 },
    vault: { keys: [{ kid: 'test', key: vaultKey }] },
    identityProviders: [
      {
        name: 'example-id',
        displayName: 'Example ID',
        issuer: identityProvider.issuer,
        clientId: 'postern',
        clientSecret: 'postern-login-secret',
        accessTokens: { audience: options.accessTokenAudience ?? 'http://localhost:7001/mcp' },
      },
    ],
    providers: [
      {
        name: 'forge',
        displayName: 'Code Forge',
        issuer: provider.issuer,
        clientId: 'postern-at-forge',
        clientSecret: 'forge-client-secret',
        baseScopes: ['openid', 'profile'],
        defaultScopes: ['repo'],
        scopes: {
          repo: { en: 'read the list of your repositories', 'zh-Hans': '读取你的代码库列表' },
          issues: { en: 'create issues in your name', 'zh-Hans': '以你的名义创建议题' },
        },
        account: { from: 'id_token', nameClaim: 'name' },
      },
    ],
    ...(stripe && { processors: [processorOf(stripe)] }),
    mcpServers: [
      mcpServer({
        id: 'tracker',
        limits: { requestsPerMinute: 1_000_000 },
        ...(stripe && { payment: paymentPolicy({ processors: ['stripe-main', 'none'], ...options.payment }) }),
        ...options.mcpServer,
        ...(state.store && { webhooks: [] }),
      }),
      ...(options.otherMcpServers ?? []).filter(other => !state.store || !needsRedis(other)).map(mcpServer),
    ],
  };
}

const needsRedis = ({ identity = { mode: 'loopback' }, webhooks = [] }: Partial<McpServerInput>): boolean =>
  identity.mode !== 'loopback' || webhooks.length > 0;

const processorOf = ({
  secretKey,
  webhookSecrets,
  origin,
}: FakeStripe): NonNullable<GatewayConfigInput['processors']>[number] => ({
  type: 'stripe',
  name: 'stripe-main',
  secretKey,
  webhookSecrets: [...webhookSecrets],
  apiUrl: origin,
});
