import { newRevocationId, shardIn, shardOf, systemEntropy } from '@postern/elicitation';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type Loss, startFaultProxy } from '@postern/testkit/fault-proxy';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';
import { createKeys } from './keys.ts';

const { AMPLE, ask, connectionIdFor, created, engage, moved, oneTimeFor, operation, renewed, secretDigest, somebody } =
  samples;
const { answer, approve, askFor, credentialFor } = kindSamples;

/** Long enough for a reply on a busy machine. All tests wait for it concurrently. */
const COMMAND_TIMEOUT_MS = 4_000;

let redis: RedisServer;
let direct: RedisStores;
let operator: Redis;
beforeAll(async () => {
  redis = await startRedis();
  direct = await createRedisStores({ url: redis.url });
  operator = new Redis(redis.url);
});
afterAll(async () => {
  operator.disconnect();
  await direct.close();
  await redis[Symbol.asyncDispose]();
});

/** Opens stores behind a separate proxy, so that only their replies get lost. */
async function openLossy() {
  await using stack = new AsyncDisposableStack();
  const proxy = stack.use(await startFaultProxy(redis.port));
  const url = `redis://127.0.0.1:${proxy.port}`;
  const stores = stack.use(await createRedisStores({ url, commandTimeoutMs: COMMAND_TIMEOUT_MS }));
  const owned = stack.move();
  return { proxy, stores, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const pending = () => created(direct.elicitations, ask(somebody()));
const announced = async (elicitationId: Awaited<ReturnType<typeof pending>>['elicitationId']) => {
  const logged = await direct.events.read(shardIn(elicitationId), { limit: 1_000 });
  return logged.filter(({ event }) => event.elicitationId === elicitationId);
};

/** Redis executes the command, but its reply never arrives. */
describe.concurrent.each<Loss>(['disconnect', 'stall'])('a reply lost by %s', loss => {
  test('create makes one elicitation, and the caller gets it', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const request = ask(somebody());
    const { elicitationId } = request.elicitation;
    const lost = proxy.loseAnswerTo(request.operationId, loss);
    expect(await stores.elicitations.create(request)).toMatchObject({
      result: 'created',
      elicitation: { elicitationId, version: 1 },
    });
    await lost;
    expect(await announced(elicitationId)).toHaveLength(1);
  });

  test('a transition makes one version and one connection generation, and the caller gets them', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const current = await moved(direct.elicitations, await pending(), engage);
    const move = samples.complete(current);
    const operationId = operation();
    const lost = proxy.loseAnswerTo(operationId, loss);
    expect(await stores.elicitations.transition({ current, operationId, ...move })).toMatchObject({
      result: 'applied',
      elicitation: { status: 'completed', version: 3 },
    });
    await lost;
    expect(await announced(current.elicitationId)).toHaveLength(3);
    const connectionId = connectionIdFor(current.subject);
    expect(await stores.connections.read(connectionId)).toMatchObject({ generation: 1 });
  });

  test('S112: signing out everywhere leaves no record, also if its answer and that of its repeat are lost', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const subject = somebody();
    const signIn = () => ({
      id: samples.browserSessionIdOf(subject),
      subject,
      origin: { identityProvider: 'example' },
      displayName: 'Alice',
    });
    const lifetime = { idleMs: samples.MINUTE, absoluteMs: samples.MINUTE };
    const [own] = await Promise.all([1, 2, 3].map(() => direct.browserSessions.create(signIn(), lifetime)));
    if (own === undefined) throw new Error('Expected a browser session.');
    const absoluteMs = 61_234;
    const list = createKeys('postern').browserSessionsOf(shardOf(subject), subject);
    const lost = Promise.all([1, 2].map(() => proxy.loseAnswerTo(`${absoluteMs}`, loss)));
    await stores.browserSessions.endAll(own, absoluteMs);
    await lost;
    const names = Object.keys(await operator.hgetall(list)).filter(name => name !== 'since');
    expect(names).toHaveLength(3);
    for (const name of names)
      expect(await operator.exists(createKeys('postern').browserSessionNamed(shardOf(subject), name))).toBe(0);
  });

  async function connected() {
    const active = await moved(direct.elicitations, await pending(), engage);
    await moved(direct.elicitations, active, samples.complete(active));
    const current = await direct.connections.read(connectionIdFor(active.subject));
    if (current === undefined) throw new Error('Expected a connection.');
    return current;
  }

  test('beginning a refresh leaves the lease with the caller', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const current = await connected();
    const holder = operation();
    const lost = proxy.loseAnswerTo(holder, loss);
    const begun = await stores.connections.beginRefresh({ current, holder, leaseMs: 60_000 });
    expect(begun).toEqual({ result: 'begun', connection: current, failures: 0, isUnfinished: false });
    await lost;
  });

  test('finishing a refresh makes one generation, and the caller gets it', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const current = await connected();
    const refresh = { current, ...renewed('newest') };
    const lost = proxy.loseAnswerTo(refresh.operationId, loss);
    const change = await stores.connections.finishRefresh(refresh);
    expect(change).toMatchObject({ result: 'stored', connection: { generation: 2, sealedTokens: 'newest' } });
    await lost;
    expect(await stores.connections.read(current.connectionId)).toMatchObject({ generation: 2 });
  });

  test('removing is not repeated: the caller gets an unknown result, and the revocation is stored', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const { connectionId } = await connected();
    const revocationId = newRevocationId(shardIn(connectionId), systemEntropy);
    const lost = proxy.loseAnswerTo(revocationId, loss);
    const removal = stores.connections.remove({ connectionId, revocationId });
    await expect(removal).rejects.toMatchObject({ code: 'store_unavailable' });
    await lost;
    expect(await direct.revocations.claimOne(revocationId, 0)).toMatchObject({ revocationId });
    expect(await direct.connections.read(connectionId)).toBeUndefined();
  });

  test('redeem gives the caller the result as the first, and refuses any other name', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const form = await created(direct.elicitations, askFor('form', somebody()));
    const { elicitationId } = await moved(direct.elicitations, form, answer(form));
    const redemption = operation();
    const lost = proxy.loseAnswerTo(redemption, loss);
    const redeemed = await stores.elicitations.redeem({ elicitationId, redemption });
    expect(redeemed).toMatchObject({ result: 'redeemed', sealed: 'sealed-result', isFirst: true });
    await lost;
    expect(await stores.elicitations.redeem({ elicitationId, redemption })).toEqual({ ...redeemed, isFirst: false });
    expect(await stores.elicitations.redeem({ elicitationId, redemption: operation() })).toMatchObject({
      result: 'spent',
    });
  });

  test('typing a credential makes one generation, and the caller gets the completion', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const current = await created(direct.elicitations, askFor('lasting', somebody()));
    const operationId = operation();
    const lost = proxy.loseAnswerTo(operationId, loss);
    expect(await stores.elicitations.transition({ current, operationId, ...answer(current) })).toMatchObject({
      result: 'applied',
      elicitation: { status: 'completed', version: 2 },
    });
    await lost;
    const { credentialId } = credentialFor(current);
    expect(await stores.credentials.read(credentialId)).toMatchObject({ generation: 1 });
  });

  test('approving makes one version, and the caller gets the charging payment', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const current = await created(direct.elicitations, askFor('payment', somebody()));
    const operationId = operation();
    const lost = proxy.loseAnswerTo(operationId, loss);
    const approved = await stores.elicitations.transition({ current, operationId, ...approve });
    expect(approved).toMatchObject({ result: 'applied', elicitation: { status: 'active', version: 2 } });
    await lost;
    expect(await stores.elicitations.create(askFor('payment', current.subject))).toMatchObject({ result: 'open' });
  });

  test('removing a credential is not repeated: the caller gets an unknown result', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const form = await created(direct.elicitations, askFor('lasting', somebody()));
    await moved(direct.elicitations, form, answer(form));
    const { credentialId } = credentialFor(form);
    const lost = proxy.loseAnswerTo(credentialId, loss);
    const removal = stores.credentials.remove(credentialId);
    await expect(removal).rejects.toMatchObject({ code: 'store_unavailable' });
    await lost;
    expect(await direct.credentials.read(credentialId)).toBeUndefined();
  });

  test('a passkey is added and used once, and the caller gets the result', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const subject = somebody();
    const passkey = samples.passkeyFor(subject, { signCount: 7 });
    const { passkeyId } = passkey;
    const whileAdding = proxy.loseAnswerTo(passkeyId, loss);
    expect(await stores.passkeys.add(passkey, 1)).toBe('added');
    await whileAdding;
    const whileUsing = proxy.loseAnswerTo(passkeyId, loss);
    expect(await stores.passkeys.use({ subject, passkeyId, signCount: 8, backedUp: true })).toBe('used');
    await whileUsing;
    expect(await stores.passkeys.use({ subject, passkeyId, signCount: 8, backedUp: true })).toBe('stale');
    expect(await stores.passkeys.add(passkey, 1)).toBe('exists');
    expect(await stores.passkeys.list(subject)).toMatchObject([{ signCount: 8, backedUp: true }]);
    const whileResetting = proxy.loseAnswerTo('pkf', loss);
    expect(await stores.passkeys.reset(subject)).toBe(1);
    await whileResetting;
    expect(await stores.passkeys.list(subject)).toEqual([]);
  });

  test('a repeat under an idempotency key returns what the caller created, and its stored response', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const subject = somebody();
    const idempotencyKey = { digest: secretDigest(), fingerprint: operation() };
    const request = ask(subject, { idempotencyKey });
    const whileCreating = proxy.loseAnswerTo(idempotencyKey.fingerprint, loss);
    expect(await stores.elicitations.create(request)).toMatchObject({
      result: 'created',
      elicitation: request.elicitation,
    });
    await whileCreating;
    const other = { digest: secretDigest(), fingerprint: operation() };
    const whilePutting = proxy.loseAnswerTo(other.fingerprint, loss);
    const named = { shard: shardOf(subject), mcpServerId: 'issue-tracker', quota: AMPLE };
    expect(await stores.idempotency.put({ ...other, ...named, response: 'response' })).toEqual({ result: 'exists' });
    await whilePutting;
    const again = ask(subject, { idempotencyKey: other });
    expect(await stores.elicitations.create(again)).toEqual({ result: 'replayed', response: 'response' });
  });

  test('consuming is not retried: the record is lost, and the caller gets an unknown result', async () => {
    await using lossy = await openLossy();
    const { proxy, stores } = lossy;
    const elicitation = await pending();
    const shard = shardIn(elicitation.elicitationId);
    const record = oneTimeFor(elicitation.elicitationId);
    await moved(direct.elicitations, elicitation, { ...engage, putOneTime: { record, ttlMs: 60_000 } });
    const lost = proxy.loseAnswerTo(record.digest, loss);
    await expect(stores.oneTime.consume(shard, record.digest)).rejects.toMatchObject({ code: 'store_unavailable' });
    await lost;
    expect(await direct.oneTime.consume(shard, record.digest)).toMatchObject({ result: 'spent' });
  });
});
