import { DAILY_LIMIT_MS, newRevocationId, shardOf, systemEntropy } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { eventsOf, suite } from './contract-stores.ts';
import { approve, askFor, requests } from './kind-samples.ts';
import {
  ask,
  browserSessionIdOf,
  created,
  engage,
  expire,
  MINUTE,
  moved,
  oneTimeFor,
  operation,
  secretDigest,
  somebody,
  TTL_MS,
} from './samples.ts';

const DAY = 24 * 60 * MINUTE;

/** A clock that was wrong for a while, and is right again. */
export const describeClock = suite('a clock that goes back', stores => {
  /** Moves the clock for the time of these calls, and for a write of another user. */
  async function wrongBy<T>(ms: number, calls: () => Promise<T>): Promise<T> {
    const start = stores.clock.now();
    stores.clock.set(start + ms);
    const result = await calls();
    await stores.audits.append('people', 'line');
    stores.clock.set(start + 1);
    await stores.audits.append('people', 'line');
    return result;
  }

  test.each([-60 * MINUTE, -365 * DAY])('by %i ms and forth ends nothing early', async ms => {
    const person = somebody();
    const elicitation = await created(stores.elicitations, ask(person));
    const record = oneTimeFor(elicitation.elicitationId);
    await moved(stores.elicitations, elicitation, { ...engage, putOneTime: { record, ttlMs: MINUTE } });
    const shard = shardOf(person);
    await stores.oneTime.consume(shard, record.digest);
    const used = { kind: 'login', digest: secretDigest(), expiresAt: stores.clock.now() + 10 * MINUTE } as const;
    await stores.oneTime.spend(used);
    const session = { id: browserSessionIdOf(person), subject: person, origin: { identityProvider: 'corporate' } };
    const lifetime = { idleMs: 10 * MINUTE, absoluteMs: DAY };
    await stores.browserSessions.create({ ...session, displayName: 'Alice' }, lifetime);
    const { minorUnits, currency } = requests.payment.terms.amount;
    const approved = async () => {
      const current = await created(
        stores.elicitations,
        askFor('payment', person, { coalescingDigest: secretDigest() }),
      );
      const request = { current, operationId: operation(), ...approve, countWithin: minorUnits };
      return (await stores.elicitations.transition(request)).result;
    };
    expect(await approved()).toBe('applied');

    await wrongBy(ms, async () => {});

    expect(await stores.elicitations.read(elicitation.elicitationId)).toBeDefined();
    expect(await stores.oneTime.consume(shard, record.digest)).toMatchObject({ result: 'spent' });
    expect(await stores.oneTime.spend(used)).toBe(false);
    expect(await stores.browserSessions.read(session.id)).toBeDefined();
    expect(await approved()).toBe('over_daily_limit');
    stores.clock.advance(DAILY_LIMIT_MS);
    expect(await approved()).toBe('applied');
    expect(await stores.payments.counted({ subject: person, mcpServerId: 'issue-tracker', currency })).toHaveLength(1);
  });

  test('from a year ahead holds up no user at the limit of their requests', async () => {
    const person = somebody();
    const limited = () => ask(person, { coalescingDigest: secretDigest(), subjectLimit: { max: 1, windowMs: MINUTE } });
    const create = async () => (await stores.elicitations.create(limited())).result;
    await wrongBy(365 * DAY, async () => expect([await create(), await create()]).toEqual(['created', 'limited']));
    expect([await create(), await create()]).toEqual(['created', 'limited']);
    stores.clock.advance(MINUTE);
    expect(await create()).toBe('created');
  });

  test('from ten days ahead delays a revocation that was added meanwhile, and does not drop it', async () => {
    const person = somebody();
    const shard = shardOf(person);
    const revocationId = newRevocationId(shard, systemEntropy);
    const { elicitationId } = ask(person).elicitation;
    const revocation = { revocationId, owner: 'issue-tracker', subject: person, provider: 'github', elicitationId };
    await wrongBy(10 * DAY, () => stores.revocations.add({ ...revocation, sealedTokens: 'sealed-tokens' }));
    stores.clock.advance(10 * DAY);
    const claimed = await stores.revocations.claim(shard, { limit: 1_000, leaseMs: MINUTE });
    expect(claimed.map(claim => claim.revocationId)).toContain(revocationId);
  });

  test('from ten days ahead leaves an elicitation of that time open until its end, which is announced', async () => {
    const person = somebody();
    const elicitation = await wrongBy(10 * DAY, () => created(stores.elicitations, ask(person)));
    const { elicitationId } = elicitation;
    stores.clock.advance(5 * DAY);
    expect(await stores.elicitations.listOpen(person, ['issue-tracker'])).toEqual([elicitation]);
    stores.clock.set(elicitation.expiresAt);
    expect(elicitation.expiresAt - elicitation.createdAt).toBe(TTL_MS);
    expect(await stores.elicitations.due(shardOf(person), 1_000)).toContain(elicitationId);
    await moved(stores.elicitations, elicitation, expire);
    const events = await eventsOf(stores, elicitation);
    expect(events.map(({ type }) => type)).toEqual(['elicitation.pending', 'elicitation.expired']);
  });
});
