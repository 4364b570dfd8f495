import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import type { Provider, ProviderRegistry } from '@postern/authorization';
import {
  type Connection,
  createElicitationService,
  type Elicitation,
  type ElicitationOf,
  isOfKind,
  type NewConnection,
  StoreUnavailableError,
  type Subject,
  systemEntropy,
} from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { samples } from '@postern/testkit/contract';
import { createMemoryStores } from '@postern/testkit/memory';
import { createKeyRing, createVault } from '@postern/vault';
import type { GatewayConfigInput } from '../config/config-schema.ts';
import { parseConfig } from '../config/load-config.ts';
import { storageQuotaOf } from '../config/storage-quota.ts';
import { createEvents } from '../events.ts';
import { createGrantKeeping } from '../flows/grant-keeping.ts';
import { createRevocationFlow } from '../flows/revocation-flow.ts';
import { createTokenRefresh } from '../flows/token-refresh.ts';
import { createTokenSets, type TokenSet } from '../flows/token-set.ts';
import { createLogger } from '../logger.ts';
import { registerMcpServer } from '../registered-mcp-server.ts';
import { hashOf, sampleConfig, sampleMcpServer, samplePseudonyms } from './sample-config.ts';

const MCP_SERVERS = ['issue-tracker', 'calendar'] as const;

/**
 * What the flows work with, without network and Redis: stores in memory, a real vault, a clock that moves when told to, and one
 * provider, `github`, of which a test says only what it needs. Anything else that is asked of it is an error.
 */
export function createFlowStage(provider: Partial<Provider>, p: FlowStageOptions = {}) {
  const clock = createFakeClock();
  const stores = createMemoryStores(clock);
  const vault = createVault(createKeyRing([{ kid: 'first', key: randomBytes(32) }]));
  const tokenSets = createTokenSets(vault);
  const logged: LoggedEvent[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      logged.push(JSON.parse(String(line)) as LoggedEvent);
      done();
    },
  });
  const events = createEvents(createLogger({ level: 'info', destination }), samplePseudonyms);
  const providers: ProviderRegistry = {
    get: name => (name === 'github' ? (provider as Provider) : undefined),
    names: ['github'],
  };
  const config = parseConfig(
    sampleConfig({
      identityProviders: [
        { name: 'example-id', issuer: 'https://id.example.com', clientId: 'postern', clientSecret: 's' },
      ],
      providers: [{ name: 'github', displayName: 'GitHub', issuer: 'https://github.example', clientId: 'postern' }],
      mcpServers: MCP_SERVERS.map(id => ({
        ...sampleMcpServer,
        id,
        apiKeys: [{ hash: hashOf(id) }],
        providers: ['github'],
        issuers: ['https://id.example.com'],
        ...p.mcpServer,
      })),
      ...p.config,
    }),
  );
  const mcpServers = new Map(
    config.mcpServers.map(server => [server.id, registerMcpServer(server, storageQuotaOf(server, config))]),
  );
  const service = createElicitationService({
    ...stores,
    providers: () => ({ defaultScopes: [] }),
    audit: events.elicitation,
    entropy: systemEntropy,
    now: clock.now,
  });
  const shared = {
    ...{ config, stores, vault, tokenSets, providers, mcpServers, service, events },
    entropy: systemEntropy,
    now: clock.now,
    requestLimitMs: p.requestLimitMs ?? 10_000,
  };
  const revocationFlow = createRevocationFlow(shared);
  const tokenRefresh = createTokenRefresh({ ...shared, revocationFlow });
  const grantKeeping = createGrantKeeping({ ...shared, revocationFlow });
  const subject = samples.somebody();

  return {
    ...shared,
    ...{ clock, revocationFlow, tokenRefresh, grantKeeping, subject },

    caller(id: (typeof MCP_SERVERS)[number] = 'issue-tracker') {
      const caller = mcpServers.get(id);
      if (caller === undefined) throw new TypeError('no such MCP server');
      return caller;
    },

    /** A connection of the person, as if it had just been granted. */
    async connect(change: ConnectionChange = {}): Promise<Connection> {
      const { tokens, owner, account = { id: 'octocat' }, ...rest } = change;
      const { elicitationId } = samples.ask(subject).elicitation;
      const { account: _, accessTokenExpiresAt: __, ...bare } = samples.connectionFor(subject, elicitationId, owner);
      const connection: NewConnection = {
        ...bare,
        ...rest,
        ...(account === 'unknown' ? {} : { account }),
        sealedTokens: await tokenSets.seal({ ...sampleTokens, ...tokens }, bare),
      };
      stores.connections.put(connection, clock.now());
      return stored(connection.connectionId);
    },
    stored,

    /** What was written to the audit trail under this name, without what a test does not look at. */
    eventsNamed: (name: string): readonly LoggedEvent[] => logged.filter(({ event }) => event === name),

    /** The next call of this verb meets a store that is away. */
    losesNext<K extends string>(store: Record<K, unknown>, verb: K): void {
      const before = Object.getOwnPropertyDescriptor(store, verb);
      Object.defineProperty(store, verb, {
        configurable: true,
        async value() {
          if (before === undefined) Reflect.deleteProperty(store, verb);
          else Object.defineProperty(store, verb, before);
          throw new StoreUnavailableError();
        },
      });
    },
  };

  async function stored(connectionId: Connection['connectionId']): Promise<Connection> {
    const connection = await stores.connections.read(connectionId);
    if (connection === undefined) throw new Error('not connected');
    return connection;
  }
}

export type FlowStage = ReturnType<typeof createFlowStage>;

export interface FlowStageOptions {
  readonly requestLimitMs?: number;
  /** What both MCP servers are registered with beside the usual. */
  readonly mcpServer?: Partial<GatewayConfigInput['mcpServers'][number]>;
  readonly config?: Partial<GatewayConfigInput>;
}

export const sampleTokens: TokenSet = {
  accessToken: 'access-token-1',
  tokenType: 'bearer',
  refreshToken: 'refresh-token-1',
  redirectUri: 'https://gate.example/callback/issue-tracker/github',
  issuer: 'https://github.example',
};

export const signedInAs = (subject: Subject) => ({ kind: 'signed_in', subject }) as const;

type ConnectionChange = Partial<Pick<Connection, 'scopes' | 'refreshable' | 'accessTokenExpiresAt'>> & {
  readonly owner?: (typeof MCP_SERVERS)[number];
  readonly account?: NonNullable<Connection['account']> | 'unknown';
  readonly tokens?: Partial<TokenSet> | TokenSet;
};

/** @throws TypeError for another kind */
export function ofAuthorization(elicitation: Elicitation): ElicitationOf<'authorization'> {
  if (!isOfKind(elicitation, 'authorization')) throw new TypeError('of another kind');
  return elicitation;
}

interface LoggedEvent {
  readonly event: string;
  readonly [member: string]: unknown;
}
