import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, type GatewayConfigInput, parseConfig, startGateway } from '@postern/gateway';
import { CODE_FORGE, type CodeForge, forgeScopes, startCodeForge } from './code-forge/code-forge.ts';
import { EXAMPLE_ID, startIdentityProvider } from './identity-provider.ts';
import { startMcpEndpoint } from './mcp-server/mcp-endpoint.ts';
import { mcpUrlAt, type Ports } from './ports.ts';

/** Everything of the demo, running in this process (and Redis beside it). */
export interface Constellation extends AsyncDisposable {
  readonly posternUrl: string;
  readonly mcpUrl: string;
  readonly issuer: string;
  readonly codeForge: CodeForge;
}

export const MCP_SERVER_ID = 'repository-helper';
export const MCP_SERVER_NAME = 'Repository Helper';

/** Keys, secrets and data are made for this run and end with it. */
export async function startConstellation(p: { ports: Ports; log: NodeJS.WritableStream }): Promise<Constellation> {
  const { ports } = p;
  const posternUrl = `http://localhost:${ports.postern}`;
  const mcpUrl = mcpUrlAt(ports.mcpServer);
  const secret = () => randomBytes(32).toString('base64url');
  const login = { clientId: 'postern', clientSecret: secret(), redirectUri: `${posternUrl}/login/callback` };
  const application = {
    clientId: 'repository-helper-at-postern',
    clientSecret: secret(),
    redirectUri: `${posternUrl}/callback/${MCP_SERVER_ID}/forge`,
  };
  const apiKey = `pk_${secret()}`;

  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'postern-demo-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const identityProvider = stack.use(
    await startIdentityProvider({ port: ports.identityProvider, mcpUrl, postern: login }),
  );
  const codeForge = stack.use(await startCodeForge({ port: ports.codeForge, postern: application }));

  const config = parseConfig({
    publicUrl: posternUrl,
    listen: { host: '127.0.0.1', port: ports.postern },
    // No url: the gateway starts a private Redis here.
    redis: { directory: join(directory, 'redis') },
    vault: { keys: [{ kid: 'demo', key: randomBytes(32).toString('base64') }] },
    identityProviders: [
      {
        name: 'example-id',
        displayName: EXAMPLE_ID,
        issuer: identityProvider.issuer,
        clientId: login.clientId,
        clientSecret: login.clientSecret,
      },
    ],
    providers: [
      {
        name: 'forge',
        displayName: CODE_FORGE,
        issuer: codeForge.issuer,
        clientId: application.clientId,
        clientSecret: application.clientSecret,
        baseScopes: ['openid', 'profile'],
        defaultScopes: ['repo'],
        scopes: { ...forgeScopes },
        account: { from: 'id_token', nameClaim: 'name' },
      },
    ],
    mcpServers: [
      {
        id: MCP_SERVER_ID,
        name: MCP_SERVER_NAME,
        url: mcpUrl,
        apiKeys: [{ hash: `sha256:${createHash('sha256').update(apiKey).digest('hex')}` }],
        kinds: ['authorization'],
        providers: ['forge'],
        issuers: [identityProvider.issuer],
      },
    ],
  } satisfies GatewayConfigInput);
  stack.use(await startGateway(config, { logger: createLogger({ level: 'info', destination: p.log }) }));

  stack.use(
    await startMcpEndpoint({
      port: ports.mcpServer,
      mcpUrl,
      issuer: identityProvider.issuer,
      jwksUri: `${identityProvider.issuer}/jwks`,
      forgeUrl: codeForge.issuer,
      gateway: { url: posternUrl, apiKey },
    }),
  );

  const owned = stack.move();
  return {
    posternUrl,
    mcpUrl,
    issuer: identityProvider.issuer,
    codeForge,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
