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
import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit/clock';
import { samples } from '@postern/testkit/contract';
import { createKeyRing, createVault } from '@postern/vault';
import { createProviderAnswers } from '../authorization/provider-answers.ts';
import { createRevocationFlow } from '../authorization/revocation-flow.ts';
import { createStoreGrant } from '../authorization/store-grant.ts';
import { createTokenRefresh } from '../authorization/token-refresh.ts';
import { createTokenSets, type TokenSet } from '../authorization/token-set.ts';
import { registerMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { createAuditLog, elicitationAudit } from '../platform/audit/audit-log.ts';
import type { GatewayConfigInput } from '../platform/config/config-schema.ts';
import { parseConfig } from '../platform/config/load-config.ts';
import { storageQuotaOf } from '../platform/config/mcp-server-config.ts';
import { createLogger } from '../platform/logger.ts';
import { hashOf, sampleConfig, sampleMcpServer, samplePseudonyms } from './sample-config.ts';

const MCP_SERVERS = ['issue-tracker', 'calendar'] as const;

/**
 * The dependencies of flows without network and Redis: SQLite stores in memory, a real vault, a fake clock, and one provider,
 * `github`. Tests implement only the methods that they need.
 */
export function createFlowStage(provider: Partial<Provider>, p: FlowStageOptions = {}) {
  const clock = createFakeClock();
  const stores = createSqliteStores({ path: ':memory:', now: clock.now });
  const vault = createVault(createKeyRing([{ kid: 'first', key: randomBytes(32) }]));
  const tokenSets = createTokenSets(vault);
  const logged: LoggedEvent[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      logged.push(JSON.parse(String(line)) as LoggedEvent);
      done();
    },
  });
  const auditLog = createAuditLog(createLogger({ level: 'info', destination }), samplePseudonyms);
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
    audit: elicitationAudit(auditLog),
    entropy: systemEntropy,
    now: clock.now,
  });
  const providerAnswers = createProviderAnswers({ auditLog, now: clock.now });
  const shared = {
    config,
    stores: { ...stores, replicas: { remainingMs: async () => p.replicaRemainingMs ?? 10_000 } },
    vault,
    tokenSets,
    providers,
    mcpServers,
    service,
    auditLog,
    providerAnswers,
    replicaId: 'rp_stage',
    entropy: systemEntropy,
    now: clock.now,
    requestLimitMs: p.requestLimitMs ?? 10_000,
  };
  const revocationFlow = createRevocationFlow(shared);
  const tokenRefresh = createTokenRefresh({ ...shared, refreshes: new Map(), revocationFlow });
  const storeGrant = createStoreGrant({ ...shared, revocationFlow });
  const subject = samples.somebody();

  return {
    ...shared,
    clock,
    revocationFlow,
    tokenRefresh,
    storeGrant,
    subject,

    caller(id: (typeof MCP_SERVERS)[number] = 'issue-tracker') {
      const caller = mcpServers.get(id);
      if (caller === undefined) throw new TypeError('no such MCP server');
      return caller;
    },

    /** Creates a connection of the user, granted now. */
    async connect(change: ConnectionChange = {}): Promise<Connection> {
      const { tokens, owner, user = subject, account = { id: 'octocat' }, ...rest } = change;
      const { elicitationId } = samples.ask(user).elicitation;
      const { account: _, accessTokenExpiresAt: __, ...bare } = samples.connectionFor(user, elicitationId, owner);
      const connection: NewConnection = {
        ...bare,
        ...rest,
        ...(account === 'unknown' ? {} : { account }),
        sealedTokens: await tokenSets.seal({ ...sampleTokens, ...tokens }, bare),
      };
      stores.database.commit(() => stores.connections.put(connection, clock.now()));
      return stored(connection.connectionId);
    },
    stored,

    /** Returns the audit events with this name. */
    eventsNamed: (name: string): readonly LoggedEvent[] => logged.filter(({ event }) => event === name),

    /** Makes the next call of this method throw StoreUnavailableError. */
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

export interface FlowStageOptions {
  readonly requestLimitMs?: number;
  /** Time that the announcement of every replica still lasts. */
  readonly replicaRemainingMs?: number;
  /** Additional configuration of both MCP servers. */
  readonly mcpServer?: Partial<GatewayConfigInput['mcpServers'][number]>;
  readonly config?: Partial<GatewayConfigInput>;
}

export const sampleTokens: TokenSet = {
  accessToken: 'access-token-1',
  tokenType: 'bearer',
  refreshToken: 'refresh-token-1',
  redirectUri: 'https://gate.example/callback/issue-tracker/github',
  issuer: 'https://github.example',
  clientId: 'postern',
};

export const signedInAs = (subject: Subject) => ({ kind: 'signed_in', subject }) as const;

type ConnectionChange = Partial<Pick<Connection, 'scopes' | 'refreshable' | 'accessTokenExpiresAt' | 'rotates'>> & {
  readonly user?: Subject;
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
