import {
  type BrowserSessionId,
  type ConnectionId,
  type CredentialId,
  type Elicitation,
  type ElicitationId,
  newRevocationId,
  type RevocationId,
  type Shard,
  type Subject,
  shardIn,
  systemEntropy,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { kindSamples, samples } from '@postern/testkit/contract';
import type { Redis } from 'ioredis';

/**
 * Records of every kind and status, as one release has written and read them. `write-golden-records.ts` writes them once, before a layout
 * changes. Every later release must read the same values.
 */
export interface GoldenRecords {
  /** The clock of the store while they were written and read, epoch milliseconds. */
  readonly at: number;
  readonly keys: readonly StoredKey[];
  readonly names: GoldenNames;
  readonly readings: GoldenReadings;
}

export const GOLDEN_PREFIX = 'golden';

type StoredKey = { readonly key: string } & (
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'hash'; readonly fields: Readonly<Record<string, string>> }
  | { readonly type: 'set'; readonly members: readonly string[] }
  | { readonly type: 'zset'; readonly scored: readonly string[] }
  | { readonly type: 'stream'; readonly entries: readonly (readonly [string, readonly string[]])[] }
);

interface GoldenNames {
  readonly elicitations: readonly ElicitationId[];
  readonly redeemable: readonly ElicitationId[];
  readonly connections: readonly ConnectionId[];
  readonly credentials: readonly CredentialId[];
  readonly passkeys: readonly Subject[];
  readonly revocations: readonly RevocationId[];
  readonly oneTime: readonly { readonly shard: Shard; readonly digest: string }[];
  readonly browserSessions: readonly BrowserSessionId[];
  readonly registrations: readonly string[];
  readonly shards: readonly Shard[];
}

export type GoldenReadings = Readonly<Record<Exclude<keyof GoldenNames, 'shards'>, unknown>> & {
  readonly sealed: unknown;
  readonly outbox: unknown;
};

const { ask, cancel, complete, created, engage, expire, fail, hold, moved, oneTimeFor, retry, somebody, widen } =
  samples;
const { answer, approve, askFor, charge } = kindSamples;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Creates one record of each kind. */
export async function writeGoldenRecords(stores: RedisStores): Promise<GoldenNames> {
  const elicitations: Elicitation[] = [];
  const keep = (...kept: Elicitation[]) => void elicitations.push(...kept);
  const start = (subject = somebody()) => created(stores.elicitations, ask(subject));
  const on = (from: Elicitation, ...moves: Parameters<typeof moved>[2][]) => moved(stores.elicitations, from, ...moves);

  const plain = ask(somebody());
  keep(
    await created(stores.elicitations, {
      ...plain,
      elicitation: {
        ...plain.elicitation,
        request: {
          kind: 'authorization',
          provider: 'github',
          scopes: ['read:user', 'repo'],
          resource: 'https://api.example.com',
          expectedAccount: '583231',
        },
        message: 'Für „Jörg“ 👩‍👩‍👧:\n"connect" \\ your account',
        requestedBy: { mcpClient: 'Example Desktop', tool: 'create_issue' },
        returnUrl: 'https://tracker.example.com/back?a=b',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
    }),
    await start(),
    await on(await start(), widen),
    await on(await start(), engage),
    await on(await start(), engage, retry),
    await on(await start(), engage, {
      events: ['retry'],
      next: { status: 'pending', retryReason: 'fewer_scopes', missing: ['repo'] },
    }),
    await on(await start(), engage, hold),
    await on(await start(), engage, fail),
    await on(await start(), engage, { events: ['decline'], next: { status: 'declined' } }),
    await on(await start(), cancel),
    await on(await created(stores.elicitations, { ...ask(somebody()), ttlMs: 0 }), expire),
  );
  const connected = await start();
  keep(await on(await on(connected, engage), complete(connected)));
  const asked = [];
  for (const sample of ['payment', 'approval', 'confirmation', 'once', 'lasting', 'form'] as const) {
    const pending = await created(stores.elicitations, askFor(sample, somebody()));
    const another = await created(stores.elicitations, askFor(sample, somebody()));
    const answered = sample === 'payment' ? await on(another, approve, charge) : another;
    const completed = await on(answered, answer(answered));
    keep(pending, completed);
    asked.push({ sample, completed });
  }
  keep(await on(await created(stores.elicitations, askFor('payment', somebody())), approve));
  const redeemed = await created(stores.elicitations, askFor('form', somebody()));
  keep(await on(redeemed, answer(redeemed, 'sealed-and-redeemed')));
  await stores.elicitations.redeem({ elicitationId: redeemed.elicitationId, redemption: 'golden' });

  const connections = await connectionsOf(stores, on);
  const lasting = asked.find(({ sample }) => sample === 'lasting')?.completed;
  const credentialId = kindSamples.credentialIdFor(lasting?.subject ?? connected.subject);
  await stores.credentials.recordUse({ credentialId, use: { mcpServerId: 'issue-tracker', tool: 'deploy' } });

  const { subject } = connected;
  const passkey = { subject, passkeyId: 'nZ3vH0', publicKey: 'pQECAyYg', signCount: 7, backedUp: true };
  await stores.passkeys.add({ ...passkey, transports: ['internal', 'hybrid'], label: 'Jörgs "Telefon" 5 0' }, 5);
  await stores.passkeys.use({ ...passkey, signCount: 12 });

  const revocationId = newRevocationId(shardIn(connected.elicitationId), systemEntropy);
  await stores.revocations.add({ ...samples.connectionFor(subject, connected.elicitationId), revocationId });

  let current = await start();
  const shard = shardIn(current.elicitationId);
  const oneTime = [oneTimeFor(current.elicitationId), oneTimeFor(current.elicitationId)] as const;
  const { browserBinding: _b, provider: _p, ...least } = oneTimeFor(current.elicitationId);
  for (const record of [...oneTime, least])
    current = await on(current, { ...engage, putOneTime: { record, ttlMs: DAY_MS } }, retry);
  await stores.oneTime.consume(shard, oneTime[1].digest);

  const [signedIn, vouched] = [samples.browserSessionIdOf(subject), samples.browserSessionIdOf(subject)];
  const lifetime = { idleMs: DAY_MS, absoluteMs: 2 * DAY_MS };
  const person = { subject, displayName: 'Jörg "Example"' };
  await stores.browserSessions.create(
    { ...person, id: signedIn, origin: { identityProvider: 'example' }, detail: 'j@example.com', authTime: 1_000 },
    lifetime,
  );
  await stores.browserSessions.create(
    { ...person, id: vouched, origin: { vouchedBy: 'issue-tracker' } },
    lifetime,
    samples.AMPLE,
  );
  await stores.clientRegistrations.putIfAbsent('golden-registration', 'sealed-registration');

  return {
    elicitations: elicitations.map(({ elicitationId }) => elicitationId),
    redeemable: [...asked.map(({ completed }) => completed.elicitationId), redeemed.elicitationId],
    connections: [samples.connectionIdFor(subject), ...connections.connectionIds],
    credentials: [credentialId],
    passkeys: [subject],
    revocations: [revocationId, connections.revocationId],
    oneTime: [...oneTime, least].map(({ digest }) => ({ shard, digest })),
    browserSessions: [signedIn, vouched],
    registrations: ['golden-registration'],
    shards: [shard],
  };
}

/** Connections: refreshed and used, failing, lost, and removed with a pending revocation. */
async function connectionsOf(stores: RedisStores, on: (from: Elicitation, ...moves: never[]) => Promise<Elicitation>) {
  async function connect() {
    const pending = await created(stores.elicitations, ask(somebody()));
    await on(await on(pending, engage as never), complete(pending) as never);
    const connection = await stores.connections.read(samples.connectionIdFor(pending.subject));
    if (connection === undefined) throw new Error('Expected a connection.');
    return connection;
  }
  const [refreshed, postponed, lost, removed] = [await connect(), await connect(), await connect(), await connect()];
  const lease = { holder: 'golden', leaseMs: MINUTE_MS };
  await stores.connections.beginRefresh({ ...lease, current: refreshed });
  await stores.connections.finishRefresh({ current: refreshed, ...samples.renewed('sealed-renewed') });
  await stores.connections.recordUse({
    connectionId: refreshed.connectionId,
    use: { mcpServerId: 'issue-tracker', tool: 'create_issue' },
  });
  await stores.connections.beginRefresh({ ...lease, current: postponed });
  await stores.connections.postponeRefresh({ current: postponed, holder: lease.holder, delayMs: MINUTE_MS });
  await stores.connections.markLost({ current: lost, reason: 'refused' });
  const revocationId = newRevocationId(shardIn(removed.connectionId), systemEntropy);
  await stores.connections.remove({ connectionId: removed.connectionId, revocationId });
  return { connectionIds: [refreshed, postponed, lost].map(({ connectionId }) => connectionId), revocationId };
}

/** Reads all records and consumes one-time values. */
export async function readGoldenRecords(stores: RedisStores, names: GoldenNames): Promise<GoldenReadings> {
  const each = <T, R>(of: readonly T[], read: (one: T) => Promise<R>) => Promise.all(of.map(read));
  const sealed = [];
  for await (const step of stores.sealedRecords.walk()) sealed.push(...step.records, ...step.unreadable);
  const readings = {
    sealed: sealed.toSorted((a, b) => (`${a.kind}${a.id}` < `${b.kind}${b.id}` ? -1 : 1)),
    elicitations: await each(names.elicitations, id => stores.elicitations.read(id)),
    redeemable: await each(names.redeemable, elicitationId =>
      stores.elicitations.redeem({ elicitationId, redemption: 'golden' }),
    ),
    connections: await each(names.connections, id => stores.connections.read(id)),
    credentials: await each(names.credentials, id => stores.credentials.read(id)),
    passkeys: await each(names.passkeys, subject => stores.passkeys.list(subject)),
    revocations: await each(names.revocations, id => stores.revocations.claimOne(id, MINUTE_MS)),
    oneTime: await each(names.oneTime, ({ shard, digest }) => stores.oneTime.consume(shard, digest)),
    browserSessions: await each(names.browserSessions, id => stores.browserSessions.read(id)),
    registrations: await each(names.registrations, digest => stores.clientRegistrations.read(digest)),
    outbox: await each(names.shards, shard => stores.outbox.read(shard, { after: undefined, limit: 100 })),
  };
  return readings;
}

/** Every key without its expiry, because time has passed. */
export async function dumpKeys(redis: Redis): Promise<readonly StoredKey[]> {
  const keys = (await redis.keys(`${GOLDEN_PREFIX}:*`)).sort();
  return Promise.all(keys.map(key => dumpKey(redis, key)));
}

async function dumpKey(redis: Redis, key: string): Promise<StoredKey> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return { key, type, value: (await redis.get(key)) ?? '' };
    case 'hash':
      return { key, type, fields: await redis.hgetall(key) };
    case 'set':
      return { key, type, members: (await redis.smembers(key)).sort() };
    case 'zset':
      return { key, type, scored: await redis.zrange(key, '0', '-1', 'WITHSCORES') };
    case 'stream':
      return { key, type, entries: await redis.xrange(key, '-', '+') };
    default:
      throw new TypeError(`${key} is a ${type}.`);
  }
}

export async function restoreKeys(redis: Redis, keys: readonly StoredKey[]): Promise<void> {
  for (const stored of keys) {
    switch (stored.type) {
      case 'string':
        await redis.set(stored.key, stored.value);
        break;
      case 'hash':
        await redis.hset(stored.key, stored.fields);
        break;
      case 'set':
        await redis.sadd(stored.key, ...stored.members);
        break;
      case 'zset':
        for (let at = 0; at < stored.scored.length; at += 2)
          await redis.zadd(stored.key, stored.scored[at + 1] ?? '', stored.scored[at] ?? '');
        break;
      case 'stream':
        for (const [id, fields] of stored.entries) await redis.xadd(stored.key, id, ...fields);
    }
  }
}
