import { createHmac } from 'node:crypto';
import {
  connectionIdOf,
  createElicitationService,
  newBrowserSessionId,
  type Subject,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { createKeyRing, createVault } from '@postern/vault';
import { FORGE_CLIENT } from './forge.ts';
import { FORGE, IDENTITY_ISSUER, MCP_SERVER_ID, newSubject, OPERATORS, PROVIDER, SCOPES } from './gateway.ts';

const HOUR_MS = 3_600_000;
/** Concurrent authorizations: few enough that no command waits until its timeout on a busy machine. */
const AT_ONCE = 32;

/** A browser with a signed-in user. */
export interface SignedIn {
  readonly subject: string;
  readonly cookie: string;
}

/** Creates the browser sessions of signed-in users. */
export async function signInAll(redisUrl: string, count: number): Promise<SignedIn[]> {
  await using stores = await createRedisStores({ url: redisUrl });
  return await Promise.all(Array.from({ length: count }, () => signIn(stores)));
}

/** Creates the session of an operator at the console. @returns its cookie */
export async function signInOperator(redisUrl: string): Promise<string> {
  await using stores = await createRedisStores({ url: redisUrl });
  const subject = { issuer: IDENTITY_ISSUER, subject: newSubject() };
  const id = newBrowserSessionId(shardOf(subject), systemEntropy);
  await stores.operatorSessions.create(
    { id, subject, origin: { identityProvider: 'console' }, displayName: 'Olga Example', groups: [OPERATORS] },
    { idleMs: HOUR_MS, absoluteMs: 8 * HOUR_MS },
  );
  return `postern_console=${id}`;
}

async function signIn(stores: RedisStores): Promise<SignedIn> {
  const subject = { issuer: IDENTITY_ISSUER, subject: newSubject() };
  const id = newBrowserSessionId(shardOf(subject), systemEntropy);
  await stores.browserSessions.create(
    { id, subject, origin: { identityProvider: 'example-id' }, displayName: 'Alice Example' },
    { idleMs: HOUR_MS, absoluteMs: 8 * HOUR_MS },
  );
  return { subject: subject.subject, cookie: `postern_session=${id}` };
}

/** What the benchmark's MCP server may do, without limits that restrict the seeds. */
const mcpServer = {
  mcpServerId: MCP_SERVER_ID,
  identityMode: 'login' as const,
  connectionOwner: MCP_SERVER_ID,
  kinds: ['authorization' as const],
  providers: [PROVIDER],
  issuers: [IDENTITY_ISSUER],
  returnUrls: [],
  limits: {
    subjectMax: 10,
    subjectWindowMs: HOUR_MS,
    openMax: 10,
    maxTtlMs: HOUR_MS,
    quota: { records: 1e9, bytes: 1e12 },
  },
};

const serviceOn = (stores: RedisStores) =>
  createElicitationService({
    ...stores,
    providers: () => ({ defaultScopes: SCOPES }),
    audit: () => {},
    entropy: systemEntropy,
    now: Date.now,
  });

/** Issues an elicitation to an unused subject. */
async function issueWith(service: ReturnType<typeof serviceOn>) {
  const subject: Subject = { issuer: IDENTITY_ISSUER, subject: newSubject() };
  const request = { kind: 'authorization' as const, provider: PROVIDER };
  const issued = await service.issue(mcpServer, { subject, request, ttlMs: HOUR_MS });
  if (!('elicitation' in issued)) throw new Error('an unexpected connection exists already');
  return { subject, elicitationId: issued.elicitation.elicitationId };
}

/** Does the work `count` times, {@link AT_ONCE} at a time. */
async function repeat(count: number, work: () => Promise<void>): Promise<void> {
  let begun = 0;
  const worker = async () => {
    while (begun < count) {
      begun += 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, AT_ONCE) }, worker));
}

/** Issues and cancels elicitations like the product. */
export async function cancelAll(redisUrl: string, count: number): Promise<void> {
  await using stores = await createRedisStores({ url: redisUrl });
  const service = serviceOn(stores);
  await repeat(count, async () => {
    const { elicitationId } = await issueWith(service);
    await service.cancel(mcpServer, elicitationId);
  });
}

/**
 * Completes authorizations like the product, but without a provider. Returns the ids of the connections.
 * @param refreshToken of a grant, if there is a real provider for refreshes
 */
export async function connectAll(
  redisUrl: string,
  vaultKey: string,
  count: number,
  grant?: { readonly issuer: string; readonly refreshToken: string },
): Promise<string[]> {
  await using stores = await createRedisStores({ url: redisUrl });
  const vault = createVault(createKeyRing([{ kid: 'bench', key: Buffer.from(vaultKey, 'base64') }]));
  const service = serviceOn(stores);

  async function connect(): Promise<string> {
    const { subject, elicitationId } = await issueWith(service);
    const attempt = createHmac('sha256', 'attempt').update(elicitationId).digest('base64url');
    const record = { digest: attempt, elicitationId, mcpServerId: MCP_SERVER_ID, sealed: '' };
    await service.accept(elicitationId, { kind: 'signed_in', subject }, { record, ttlMs: HOUR_MS }, SCOPES);
    const tokens = {
      accessToken: Buffer.from(systemEntropy(48)).toString('base64url'),
      refreshToken: grant?.refreshToken ?? Buffer.from(systemEntropy(48)).toString('base64url'),
      tokenType: 'bearer',
      issuer: grant?.issuer ?? FORGE,
      redirectUri: FORGE_CLIENT.redirectUri,
    };
    const connectionId = connectionIdOf({ owner: MCP_SERVER_ID, subject, provider: PROVIDER });
    await service.complete(elicitationId, attempt, {
      connectionId,
      owner: MCP_SERVER_ID,
      subject,
      provider: PROVIDER,
      scopes: SCOPES,
      account: { id: subject.subject, name: 'Alice Example' },
      // Must be bound to the same facts as in the gateway; otherwise the vault cannot open it and the run fails.
      sealedTokens: await vault.seal(JSON.stringify(tokens), {
        purpose: 'connection',
        kind: 'authorization',
        mcpServer: MCP_SERVER_ID,
        elicitation: elicitationId,
        issuer: subject.issuer,
        subject: subject.subject,
        provider: PROVIDER,
      }),
      accessTokenExpiresAt: Date.now() + 8 * HOUR_MS,
      refreshable: true,
      elicitationId,
    });
    return connectionId;
  }

  const connectionIds: string[] = [];
  await repeat(count, async () => {
    connectionIds.push(await connect());
  });
  return connectionIds;
}
