import { createHash, randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import type {
  AccessTokenRequest,
  ConnectionListBody,
  CredentialListBody,
  CredentialValuesBody,
  ElicitationBody,
  IssueElicitationInput,
  OutcomeBody,
  PlainAccessToken,
  ProblemBody,
  ReadCredentialRequest,
  RedeemedElicitationBody,
  RedeemRequest,
  RemovedConnectionBody,
} from '@postern/api';
import { createLogger, type Gateway, type GatewayConfigInput, parseConfig, startGateway } from '@postern/gateway';
import { freePort } from '@postern/testkit/processes';
import { startOpenIdProvider, type TestProvider } from '@postern/testkit/providers';
import { leaseRedis, type RedisServer, startRedis } from '@postern/testkit/redis';

type McpServerInput = GatewayConfigInput['mcpServers'][number];

export interface WorldOptions {
  /** Default: one of its own, empty, that the worker hands to its next world. */
  readonly redisUrl?: string;
  /** Its own Redis is killed: nothing that it has said yes to may depend on how busy the disk is. */
  readonly isRedisKilled?: boolean;
  /** Extends or replaces what the MCP server `tracker` is registered with. */
  readonly mcpServer?: Partial<McpServerInput>;
  /** Further MCP servers, each with the API key `keyOf(id)`. */
  readonly otherMcpServers?: readonly (Partial<McpServerInput> & { readonly id: string })[];
  /** Replaces top-level members of the configuration; a function sees what is there already. */
  readonly config?: Partial<GatewayConfigInput> | ((parts: ConfigParts) => Partial<GatewayConfigInput>);
  readonly now?: () => number;
  /** Pause between two ticks of the sweepers, in ms, for a file that waits for them. Default: the pause of the product. */
  readonly sweepPauseMs?: number;
  /** Gateways on the same Redis behind the same public URL. Default 1; with none, `publicUrl` is needed. */
  readonly replicas?: number;
  readonly provider?: Partial<Parameters<typeof startOpenIdProvider>[0]>;
  readonly identityProvider?: Partial<Parameters<typeof startOpenIdProvider>[0]>;
  /** The address people use, where a TLS proxy stands before the gateway. */
  readonly publicUrl?: string;
  readonly accessTokenAudience?: string;
  /** Of what is logged. Default `debug`. */
  readonly logLevel?: string;
}

export interface ConfigParts {
  readonly base: GatewayConfigInput;
  readonly identityProvider: TestProvider;
  readonly provider: TestProvider;
}

/** Everything around one or more gateways, real and on loopback. */
export interface World extends AsyncDisposable {
  readonly publicUrl: string;
  readonly gateways: readonly Gateway[];
  /** What the gateways were started with, for processes beside them; `listen` is of the first. */
  readonly config: GatewayConfigInput;
  readonly redis: { readonly url: string; readonly server: RedisServer | undefined };
  readonly identityProvider: TestProvider;
  readonly provider: TestProvider;
  /** Everything any gateway logged, as text. */
  readonly log: () => string;
  readonly api: (p?: { replica?: number; apiKey?: string }) => Api;
}

export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** Set when the call was refused. */
interface Refusal {
  readonly code?: ProblemBody['code'];
  readonly errors?: ProblemBody['errors'];
}
/** Tests ask for what they expect to be there; the contract's own schemas are checked by `expectInContract`. */
type AnyOutcome = Partial<
  UnionToIntersection<OutcomeBody extends infer O ? (O extends unknown ? Omit<O, 'kind'> : never) : never>
> &
  Pick<OutcomeBody, 'kind'>;
type UnionToIntersection<U> = (U extends unknown ? (u: U) => void : never) extends (i: infer I) => void ? I : never;

type AnyRedeemed = Partial<
  UnionToIntersection<RedeemedElicitationBody extends infer R ? (R extends unknown ? Omit<R, 'kind'> : never) : never>
> & { kind: string };

export type ElicitationAnswer = Omit<ElicitationBody, 'outcome'> & { outcome?: AnyOutcome } & Refusal;

export type Api = ReturnType<typeof createApi>;

export const ALICE = 'alice';
export const BOB = 'bob';

/** The API key of an MCP server in these worlds. */
export const keyOf = (mcpServerId: string): string => `pk_${mcpServerId}_only-for-tests-0123456789`;
export const hashOf = (key: string): string => `sha256:${createHash('sha256').update(key).digest('hex')}`;

export { freePort };

/** The API of the gateway at an address, as the MCP server with this key sees it. */
export function createApi(base: string, apiKey: string) {
  async function call<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? undefined : JSON.parse(text)) as T,
    };
  }
  return {
    call,
    issue: (body: IssueElicitationInput, headers?: Record<string, string>) =>
      call<ElicitationAnswer>('POST', '/v1/elicitations', body, headers),
    read: (id: string, wait?: number) =>
      call<ElicitationAnswer>('GET', `/v1/elicitations/${id}${wait === undefined ? '' : `?wait=${wait}`}`),
    redeem: (id: string, headers?: Record<string, string>, body?: RedeemRequest) =>
      call<AnyRedeemed & Refusal>('POST', `/v1/elicitations/${id}/redeem`, body, headers),
    cancel: (id: string) => call<ElicitationAnswer>('POST', `/v1/elicitations/${id}/cancel`),
    accessToken: (connectionId: string, request?: AccessTokenRequest) =>
      call<PlainAccessToken & Refusal>('POST', `/v1/connections/${connectionId}/access-token`, request),
    connections: (subject: { issuer: string; subject: string }) =>
      call<ConnectionListBody & Refusal>('GET', `/v1/connections?${new URLSearchParams(subject)}`),
    credentials: (subject: { issuer: string; subject: string }) =>
      call<CredentialListBody & Refusal>('GET', `/v1/credentials?${new URLSearchParams(subject)}`),
    credential: (credentialId: string, request?: ReadCredentialRequest) =>
      call<Partial<UnionToIntersection<CredentialValuesBody>> & Refusal>(
        'POST',
        `/v1/credentials/${credentialId}/values`,
        request,
      ),
    removeCredential: (credentialId: string) => call<Refusal>('DELETE', `/v1/credentials/${credentialId}`),
    remove: (connectionId: string) =>
      call<RemovedConnectionBody & Refusal>('DELETE', `/v1/connections/${connectionId}`),
  };
}

/** Starts Redis, an identity provider, a third-party provider and the gateways between them. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const server =
    options.redisUrl === undefined
      ? stack.use(options.isRedisKilled ? await startRedis({ args: ['--appendfsync', 'always'] }) : await leaseRedis())
      : undefined;
  const redisUrl = options.redisUrl ?? server?.url ?? '';
  const ports = await Promise.all(Array.from({ length: options.replicas ?? 1 }, freePort));
  const publicUrl = options.publicUrl ?? `http://localhost:${ports[0]}`;
  const mcpServerIds = ['tracker', ...(options.otherMcpServers ?? []).map(other => other.id)];

  const identityProvider = stack.use(
    await startOpenIdProvider({
      name: 'Example ID',
      consent: 'skip',
      clients: [
        {
          clientId: 'postern',
          clientSecret: 'postern-login-secret',
          redirectUris: [`${publicUrl}/login/callback/example-id`],
        },
      ],
      accessTokenFormat: 'jwt',
      ...options.identityProvider,
    }),
  );
  const provider = stack.use(
    await startOpenIdProvider({
      name: 'Code Forge',
      clients: [
        {
          clientId: 'postern-at-forge',
          clientSecret: 'forge-client-secret',
          redirectUris: mcpServerIds.map(id => `${publicUrl}/callback/${id}/forge`),
        },
      ],
      scopes: ['repo', 'issues'],
      ...options.provider,
    }),
  );

  const mcpServer = (overrides: Partial<McpServerInput> & { id: string }): McpServerInput => ({
    name: 'Issue Tracker',
    url: 'http://localhost:7001/mcp',
    apiKeys: [{ hash: hashOf(keyOf(overrides.id)) }],
    providers: ['forge'],
    issuers: [identityProvider.issuer],
    ...overrides,
  });
  const vaultKey = randomBytes(32).toString('base64');
  const chunks: string[] = [];
  const logger = createLogger({
    level: options.logLevel ?? 'debug',
    destination: new Writable({
      write(chunk, _encoding, done) {
        chunks.push(String(chunk));
        done();
      },
    }),
  });

  const gateways: Gateway[] = [];
  const inputFor = (port: number): GatewayConfigInput => {
    const base: GatewayConfigInput = {
      publicUrl,
      listen: { host: '127.0.0.1', port },
      redis: { url: redisUrl },
      // Everything is one process here, and the machine has other things to do.
      overload: { eventLoopDelayMs: 10_000 },
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
      mcpServers: [
        mcpServer({ id: 'tracker', ...options.mcpServer }),
        ...(options.otherMcpServers ?? []).map(mcpServer),
      ],
    };
    const { config: changes } = options;
    return { ...base, ...(typeof changes === 'function' ? changes({ base, identityProvider, provider }) : changes) };
  };
  const inputs = ports.map(inputFor);
  for (const input of inputs) {
    const config = parseConfig(input);
    gateways.push(
      stack.use(
        await startGateway(config, {
          logger,
          ...(options.now === undefined ? {} : { now: options.now }),
          ...(options.sweepPauseMs === undefined ? {} : { sweepPauseMs: options.sweepPauseMs }),
        }),
      ),
    );
  }

  const owned = stack.move();
  return {
    publicUrl,
    gateways,
    config: inputs[0] ?? inputFor(0),
    redis: { url: redisUrl, server },
    identityProvider,
    provider,
    log: () => chunks.join(''),
    api: ({ replica = 0, apiKey = keyOf('tracker') } = {}) =>
      createApi(gateways[replica]?.address ?? publicUrl, apiKey),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export type AuthorizationInput = Extract<IssueElicitationInput, { kind: 'authorization' }>;

/** An ask for repositories in the name of `user`. */
export function askFor(world: World, user: string, overrides: Partial<AuthorizationInput> = {}): AuthorizationInput {
  return {
    kind: 'authorization',
    subject: { issuer: world.identityProvider.issuer, subject: user },
    message: 'Connect Code Forge to list your repositories',
    authorization: { provider: 'forge', scopes: ['repo'] },
    ...overrides,
  };
}
