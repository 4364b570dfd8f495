import { randomUUID } from 'node:crypto';
import {
  type Connection,
  eventOf,
  type JobProgress,
  newBrowserSessionId,
  newRevocationId,
  type OutboxEntry,
  type Payment,
  shardIn,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { kindSamples, samples } from '@postern/testkit/contract';
import type { CalledScript } from './called-scripts.ts';
import { passkeyScriptCases } from './passkey-script-cases.ts';
import type { ScriptCase } from './script-case.ts';

const { AMPLE, ask, connectionIdFor, created, engage, moved, oneTimeFor, operation, renewed, secretDigest, somebody } =
  samples;
const { answer, approve, askFor, credentialFor } = kindSamples;
const MINUTE = 60_000;
const shard = () => shardOf(somebody());

const pending = (stores: RedisStores) => created(stores.elicitations, ask(somebody()));

async function connected(stores: RedisStores): Promise<Connection> {
  const active = await moved(stores.elicitations, await pending(stores), engage);
  await moved(stores.elicitations, active, samples.complete(active));
  const connection = await stores.connections.read(connectionIdFor(active.subject));
  if (connection === undefined) throw new Error('the authorization created no connection');
  return connection;
}

async function kept(stores: RedisStores) {
  const form = await created(stores.elicitations, askFor('lasting', somebody()));
  await moved(stores.elicitations, form, answer(form));
  return credentialFor(form).credentialId;
}

async function revocable(stores: RedisStores) {
  const { owner, subject, provider, elicitationId, sealedTokens } = await connected(stores);
  const revocationId = newRevocationId(shardIn(elicitationId), systemEntropy);
  return { revocationId, owner, subject, provider, elicitationId, sealedTokens };
}

async function refreshing(stores: RedisStores) {
  const current = await connected(stores);
  const holder = operation();
  await stores.connections.beginRefresh({ current, holder, leaseMs: MINUTE });
  return { current, holder };
}

const lifetime = { idleMs: 30 * MINUTE, absoluteMs: 60 * MINUTE };
function signIn() {
  const subject = somebody();
  const id = newBrowserSessionId(shardOf(subject), systemEntropy);
  return { id, subject, displayName: 'Alice', origin: { identityProvider: 'example' } };
}

const newKey = () => ({
  apiKeyId: `ak_${secretDigest()}`,
  mcpServerId: 'issue-tracker',
  name: 'production',
  lastFour: 'abcd',
  by: 'olga',
  reason: 'first key',
  sealedDigest: 'sealed',
});

const jobProgress: JobProgress = {
  found: 2,
  done: 1,
  unreadable: 0,
  share: 0.5,
  cursor: 'scan',
  pending: ['one'],
  failures: 0,
};
const newJob = () => ({
  jobId: `jb_${operation()}`,
  about: { verb: 'disconnect', target: { provider: 'forge' }, by: 'olga', door: 'console' } as const,
});

async function startedJob(stores: RedisStores) {
  const job = newJob();
  await stores.jobs.start(job);
  return job;
}

async function heldJob(stores: RedisStores) {
  const { jobId } = await startedJob(stores);
  const holder = operation();
  await stores.jobs.claim({ jobId, holder, leaseMs: MINUTE });
  return { jobId, holder };
}
const replica = { instance: 'host-a:7', version: '1.0.0', startedAt: 1, status: 'serving', requests: 0 } as const;

/** A payment that is not stored yet. */
const paymentOf = (elicitationId: Payment['elicitationId']): Payment => ({
  elicitationId,
  version: 0,
  paidAt: 0,
  mcpServerId: 'issue-tracker',
  processor: 'stripe',
  processorReference: 'pi_1',
  amount: { currency: 'EUR', minorUnits: 1_050 },
  completes: true,
  refunds: [],
  disputes: [],
});

/** Outbox entries of the elicitation that was just created. */
async function committed(stores: RedisStores): Promise<readonly OutboxEntry[]> {
  const elicitation = await pending(stores);
  const { entries } = await stores.outbox.read(shardIn(elicitation.elicitationId), { after: undefined, limit: 1_000 });
  return entries.filter(({ event }) => event.eventId === eventOf(elicitation).eventId);
}

/** A case for every called script. A missing case is a type error here and fails the scenario. */
export const scriptCases: Readonly<Record<CalledScript, ScriptCase>> = {
  createElicitation: {
    async prepare() {
      const request = ask(somebody());
      return stores => stores.elicitations.create(request);
    },
    first: { result: 'created', elicitation: { version: 1, status: 'pending' } },
  },
  transitionElicitation: {
    async prepare(stores) {
      const current = await moved(stores.elicitations, await pending(stores), engage);
      const request = { current, operationId: operation(), ...samples.complete(current) };
      return again => again.elicitations.transition(request);
    },
    first: { result: 'applied', elicitation: { version: 3, status: 'completed' } },
  },
  redeemElicitation: {
    async prepare(stores) {
      const form = await created(stores.elicitations, askFor('form', somebody()));
      const { elicitationId } = await moved(stores.elicitations, form, answer(form));
      const redemption = operation();
      return again => again.elicitations.redeem({ elicitationId, redemption });
    },
    first: { result: 'redeemed', sealed: 'sealed-result', isFirst: true },
    again: { result: 'redeemed', sealed: 'sealed-result', isFirst: false },
  },
  postponeElicitation: {
    async prepare(stores) {
      const { elicitationId } = await moved(
        stores.elicitations,
        await created(stores.elicitations, askFor('payment', somebody())),
        approve,
      );
      return again => again.elicitations.postpone(elicitationId, MINUTE);
    },
    first: undefined,
  },
  dueElicitations: {
    async prepare() {
      const where = shard();
      return stores => stores.elicitations.due(where, 10);
    },
    first: [],
    onlyOnce: true,
  },
  openElicitations: {
    async prepare(stores) {
      const { subject, elicitationId, mcpServerId } = await pending(stores);
      return async again =>
        (await again.elicitations.listOpen(subject, [mcpServerId])).map(it => it.elicitationId === elicitationId);
    },
    first: [true],
  },
  setMute: {
    async prepare() {
      const subject = somebody();
      return stores => stores.mutes.mute(subject, 'issue-tracker');
    },
    first: true,
    again: false,
    resent: false,
  },
  beginRefresh: {
    async prepare(stores) {
      const current = await connected(stores);
      const holder = operation();
      return again => again.connections.beginRefresh({ current, holder, leaseMs: MINUTE });
    },
    first: { result: 'begun', failures: 0 },
    renews: ['cn'],
  },
  finishRefresh: {
    async prepare(stores) {
      const { current } = await refreshing(stores);
      const refresh = { current, ...renewed('newest') };
      return again => again.connections.finishRefresh(refresh);
    },
    first: { result: 'stored', connection: { generation: 2, sealedTokens: 'newest' } },
  },
  postponeRefresh: {
    async prepare(stores) {
      const p = await refreshing(stores);
      return again => again.connections.postponeRefresh({ ...p, delayMs: MINUTE });
    },
    first: undefined,
  },
  markLost: {
    async prepare(stores) {
      const current = await connected(stores);
      return again => again.connections.markLost({ current, reason: 'refused' });
    },
    first: { result: 'stored', connection: { lost: { reason: 'refused' } } },
  },
  recordUse: {
    async prepare(stores) {
      const { connectionId } = await connected(stores);
      return again => again.connections.recordUse({ connectionId, use: { mcpServerId: 'issue-tracker' } });
    },
    first: undefined,
  },
  removeConnection: {
    async prepare(stores) {
      const { connectionId } = await connected(stores);
      const revocationId = newRevocationId(shardIn(connectionId), systemEntropy);
      return again => again.connections.remove({ connectionId, revocationId });
    },
    first: { generation: 1 },
    again: undefined,
    onlyOnce: true,
  },
  removeCredential: {
    async prepare(stores) {
      const credentialId = await kept(stores);
      return again => again.credentials.remove(credentialId);
    },
    first: { generation: 1 },
    again: undefined,
    onlyOnce: true,
  },
  notePayment: {
    async prepare(stores) {
      const { elicitationId } = await pending(stores);
      return again => again.payments.recordReported(elicitationId, 'pi_1');
    },
    first: undefined,
  },
  putPayment: {
    async prepare(stores) {
      const { elicitationId } = await pending(stores);
      const payment = paymentOf(elicitationId);
      return again => again.payments.put({ payment, announces: 'payment.refunded' });
    },
    first: 'committed',
    again: 'conflict',
    resent: 'conflict',
  },
  checkCharge: {
    async prepare(stores) {
      const { elicitationId } = await pending(stores);
      return again => again.payments.checkLater(elicitationId, 'charge', MINUTE);
    },
    first: undefined,
    renews: ['charges'],
  },
  dueCharges: {
    async prepare() {
      const where = shard();
      return stores => stores.payments.dueChecks(where, 10);
    },
    first: [],
    onlyOnce: true,
  },
  dropRefundCheck: {
    async prepare(stores) {
      const { elicitationId } = await pending(stores);
      await stores.payments.checkLater(elicitationId, 'refunds', MINUTE);
      return again => again.payments.dropCheck(elicitationId, 'refunds');
    },
    first: undefined,
  },
  ...passkeyScriptCases,
  addRevocation: {
    async prepare(stores) {
      const revocation = await revocable(stores);
      return again => again.revocations.add(revocation);
    },
    first: undefined,
  },
  dueRevocations: {
    async prepare() {
      const where = shard();
      return stores => stores.revocations.claim(where, { limit: 10, leaseMs: MINUTE });
    },
    first: [],
    onlyOnce: true,
  },
  claimRevocation: {
    async prepare(stores) {
      const revocation = await revocable(stores);
      await stores.revocations.add(revocation);
      return async again => (await again.revocations.claimOne(revocation.revocationId, MINUTE))?.attempts;
    },
    first: 1,
    // Until the lease expires.
    again: undefined,
    onlyOnce: true,
  },
  finishRevocation: {
    async prepare(stores) {
      const revocation = await revocable(stores);
      await stores.revocations.add(revocation);
      return again => again.revocations.finish(revocation);
    },
    first: undefined,
  },
  postponeRevocation: {
    async prepare(stores) {
      const revocation = await revocable(stores);
      await stores.revocations.add(revocation);
      return again => again.revocations.postpone(revocation.revocationId, MINUTE);
    },
    first: undefined,
    renews: ['rvs'],
  },
  replaceSealed: {
    async prepare(stores) {
      const id = (await connected(stores)).connectionId;
      const record = { kind: 'connection', id, sealed: 'sealed-tokens' } as const;
      return again => again.sealedRecords.replace(record, 'sealed-anew');
    },
    first: true,
  },
  carryEvents: {
    async prepare(stores) {
      const entries = await committed(stores);
      return again => again.outbox.carry('issue-tracker', entries);
    },
    first: 1,
    again: 0,
    resent: 0,
  },
  countRefreshes: {
    async prepare() {
      const of = { provider: `p-${operation().toLowerCase().replaceAll('_', '-')}`, day: '2026-11-23' };
      const at = Date.parse('2026-11-23T09:00:00Z');
      const batch = { ...of, operationId: operation(), counts: [{ at, outcome: 'refreshed', count: 2 } as const] };
      return async stores => {
        await stores.refreshCounts.add('writer', batch);
        return stores.refreshCounts.read(of.provider, of.day);
      };
    },
    first: [{ at: Date.parse('2026-11-23T09:00:00Z'), outcome: 'refreshed', count: 2 }],
  },
  readFeed: {
    async prepare() {
      return stores => stores.feeds.read('unknown', { after: undefined, limit: 10 });
    },
    first: { result: 'events', events: [] },
  },
  moveCursor: {
    async prepare(stores) {
      const [entry] = await committed(stores);
      if (entry === undefined) throw new Error('a commit without an event');
      const where = shardIn(entry.event.elicitationId);
      return again => again.outbox.moveCursor(where, entry.position);
    },
    first: undefined,
  },
  takeLease: {
    async prepare() {
      const p = { name: operation(), holder: 'a', leaseMs: MINUTE };
      return stores => stores.leases.take(p);
    },
    first: true,
    renews: ['lease'],
  },
  releaseLease: {
    async prepare(stores) {
      const p = { name: operation(), holder: 'a' };
      await stores.leases.take({ ...p, leaseMs: MINUTE });
      return again => again.leases.release(p);
    },
    first: undefined,
  },
  readOneTime: {
    async prepare() {
      const [where, digest] = [shard(), secretDigest()];
      return stores => stores.oneTime.read(where, digest);
    },
    first: undefined,
  },
  consumeOneTime: {
    async prepare(stores) {
      const elicitation = await pending(stores);
      const record = oneTimeFor(elicitation.elicitationId);
      await moved(stores.elicitations, elicitation, { ...engage, putOneTime: { record, ttlMs: MINUTE } });
      return again => again.oneTime.consume(shardIn(elicitation.elicitationId), record.digest);
    },
    first: { result: 'taken' },
    again: { result: 'spent' },
    onlyOnce: true,
  },
  spendOneTime: {
    async prepare() {
      const value = { kind: 'login', digest: secretDigest(), expiresAt: Date.now() + MINUTE } as const;
      return again => again.oneTime.spend(value);
    },
    first: true,
    again: false,
    onlyOnce: true,
  },
  createBrowserSession: {
    async prepare() {
      const session = signIn();
      return stores => stores.browserSessions.create(session, lifetime);
    },
    first: { displayName: 'Alice' },
    renews: ['bs', 'bss'],
  },
  readBrowserSession: {
    async prepare(stores) {
      const { id } = await stores.browserSessions.create(signIn(), lifetime);
      return again => again.browserSessions.read(id);
    },
    first: { displayName: 'Alice' },
  },
  endBrowserSession: {
    async prepare(stores) {
      const { id } = await stores.browserSessions.create(signIn(), lifetime);
      return again => again.browserSessions.end(id);
    },
    first: undefined,
  },
  endBrowserSessions: {
    async prepare(stores) {
      const session = await stores.browserSessions.create(signIn(), lifetime);
      return again => again.browserSessions.endAll(session, lifetime.absoluteMs);
    },
    first: undefined,
    renews: ['bss'],
  },
  touchBrowserSession: {
    async prepare(stores) {
      const { id } = await stores.browserSessions.create(signIn(), lifetime);
      return again => again.browserSessions.touch(id);
    },
    first: undefined,
    renews: ['bs'],
  },
  addApiKey: {
    async prepare() {
      const apiKey = newKey();
      return stores => stores.apiKeys.add(apiKey);
    },
    first: 'added',
  },
  revokeApiKey: {
    async prepare(stores) {
      const apiKey = newKey();
      await stores.apiKeys.add(apiKey);
      return again => again.apiKeys.revoke(apiKey.apiKeyId, { by: 'olga', reason: 'leaked' });
    },
    first: 'revoked',
  },
  readApiKeys: {
    async prepare(stores) {
      const { apiKeyId, ...apiKey } = newKey();
      await stores.apiKeys.add({ apiKeyId, ...apiKey });
      return async again => (await again.apiKeys.read())?.apiKeys.some(each => each.apiKeyId === apiKeyId);
    },
    first: true,
  },
  startJob: {
    async prepare() {
      const job = newJob();
      return async stores => (await stores.jobs.start(job)) !== undefined;
    },
    first: true,
  },
  claimJob: {
    async prepare(stores) {
      const { jobId } = await startedJob(stores);
      const holder = operation();
      return async again => (await again.jobs.claim({ jobId, holder, leaseMs: MINUTE })) !== undefined;
    },
    first: true,
    renews: ['jb'],
  },
  moveJob: {
    async prepare(stores) {
      const job = await heldJob(stores);
      return again => again.jobs.move({ ...job, leaseMs: MINUTE, progress: jobProgress });
    },
    first: true,
    renews: ['jb'],
  },
  endJob: {
    async prepare(stores) {
      const job = await heldJob(stores);
      return again => again.jobs.end({ ...job, status: 'done', progress: jobProgress });
    },
    first: true,
    again: false,
  },
  announceReplica: {
    async prepare() {
      const replicaId = operation();
      return stores => stores.replicas.announce(replicaId, replica, MINUTE);
    },
    first: { mustDrain: false },
    renews: ['rps'],
  },
  drainReplica: {
    async prepare(stores) {
      const replicaId = operation();
      await stores.replicas.announce(replicaId, replica, MINUTE);
      return again => again.replicas.drain(replicaId, { evenLast: true });
    },
    first: 'ordered',
    resent: 'already',
    again: 'already',
  },
  readReplicas: {
    async prepare(stores) {
      const replicaId = operation();
      await stores.replicas.announce(replicaId, replica, MINUTE);
      return async again => (await again.replicas.list()).some(each => each.replicaId === replicaId);
    },
    first: true,
  },
  putRegistration: {
    async prepare() {
      const digest = secretDigest();
      return stores => stores.clientRegistrations.putIfAbsent(digest, 'sealed');
    },
    first: 'sealed',
  },
  removeRegistration: {
    async prepare(stores) {
      const digest = secretDigest();
      await stores.clientRegistrations.putIfAbsent(digest, 'sealed');
      return again => again.clientRegistrations.remove(digest, 'sealed');
    },
    first: undefined,
  },
  noteKeys: {
    async prepare() {
      const name = `vault:${operation()}`;
      return async stores => {
        await stores.keyAges.note([name]);
        return (await stores.keyAges.read()).ages.has(name);
      };
    },
    first: true,
  },
  readLedgers: {
    async prepare() {
      return async stores => (await stores.storageUse.read(['nobody']))[0]?.records;
    },
    first: 0,
  },
  putIdempotency: {
    async prepare() {
      const key = { digest: secretDigest(), fingerprint: 'body' };
      const named = { shard: shardOf(somebody()), mcpServerId: 'issue-tracker', quota: AMPLE };
      return stores => stores.idempotency.put({ ...key, ...named, response: '{}' });
    },
    first: { result: 'stored' },
    resent: { result: 'exists' },
    again: { result: 'exists' },
  },
  moveWebhookCursor: {
    async prepare() {
      const endpoint = `tracker.${randomUUID()}`;
      return stores => stores.webhookEndpoints.moveCursor(endpoint, { from: undefined, to: '1-0' });
    },
    first: true,
  },
};
