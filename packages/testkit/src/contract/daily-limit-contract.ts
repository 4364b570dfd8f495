import {
  DAILY_LIMIT_MS,
  digestOf,
  type Elicitation,
  newElicitationId,
  type Subject,
  shardOf,
  systemEntropy,
  type TransitionResult,
} from '@postern/elicitation';
import { expect, test } from 'vitest';
import { CROWD, crowd, suite } from './contract-stores.ts';
import { answer, approve, askFor, charge, notFinished, requests, type Sample } from './kind-samples.ts';
import {
  cancel,
  created,
  decline,
  declineAtOnce,
  expire,
  from,
  type Move,
  moved,
  operation,
  somebody,
} from './samples.ts';

/** The amount of every sample payment. */
const { minorUnits: PRICE, currency } = requests.payment.terms.amount;
const refused: Move = { events: ['fail'], next: { status: 'failed', failure: 'processor_refused' } };

/** ElicitationStore: a user's approvals within 24 hours stay within the limit that comes with each approval. */
export const describeDailyLimit = suite('S89: daily limits', stores => {
  /** Creates another payment request for the user. */
  const pending = (subject: Subject, sample: Sample = 'payment', mcpServerId = 'issue-tracker') => {
    const elicitationId = newElicitationId(shardOf(subject), systemEntropy);
    const request = askFor(sample, subject, { coalescingDigest: digestOf(elicitationId) });
    return created(stores.elicitations, from(mcpServerId, request));
  };
  const attempt = (current: Elicitation, countWithin: number, move: Move = approve): Promise<TransitionResult> =>
    stores.elicitations.transition({ current, operationId: operation(), ...move, countWithin });
  async function approved(current: Elicitation, countWithin = 10 * PRICE): Promise<Elicitation> {
    const result = await attempt(current, countWithin);
    if (result.result !== 'applied') throw new Error(`not approved: ${result.result}`);
    return result.elicitation;
  }
  const counted = async (subject: Subject, mcpServerId = 'issue-tracker') =>
    (await stores.payments.counted({ subject, mcpServerId, currency })).map(({ elicitationId }) => elicitationId);

  test('commits up to the limit; beyond it, writes nothing and returns the sum of the other approvals', async () => {
    const person = somebody();
    const [one, two, three] = [await pending(person), await pending(person), await pending(person)];
    await approved(one, 2 * PRICE);
    expect(await attempt(two, 2 * PRICE - 1)).toEqual({ result: 'over_daily_limit', spent: PRICE });
    expect(await stores.elicitations.read(two.elicitationId)).toEqual(two);
    await approved(two, 2 * PRICE);
    expect(await attempt(three, 2 * PRICE)).toEqual({ result: 'over_daily_limit', spent: 2 * PRICE });
    const approvedAt = stores.clock.now();
    expect(
      (await stores.payments.counted({ subject: person, mcpServerId: 'issue-tracker', currency })).toSorted(byId),
    ).toEqual([one, two].map(({ elicitationId }) => ({ elicitationId, approvedAt, minorUnits: PRICE })).toSorted(byId));
  });

  test('commits exactly as many concurrent approvals as fit the limit', async () => {
    const person = somebody();
    const asked = await crowd(() => pending(person));
    const results = await Promise.all(asked.map(current => attempt(current, 7 * PRICE)));
    expect(results.filter(({ result }) => result === 'applied')).toHaveLength(7);
    expect(results.filter(({ result }) => result === 'over_daily_limit')).toHaveLength(CROWD - 7);
    expect(await counted(person)).toHaveLength(7);
  });

  test('counts approvals without a processor', async () => {
    const person = somebody();
    const [one, two] = [await pending(person, 'approval'), await pending(person)];
    expect(await attempt(one, PRICE, answer(one))).toMatchObject({ result: 'applied' });
    expect(await attempt(two, PRICE)).toEqual({ result: 'over_daily_limit', spent: PRICE });
  });

  test('counts an approval for 24 hours', async () => {
    const person = somebody();
    await approved(await pending(person));
    stores.clock.advance(DAILY_LIMIT_MS - 1);
    const later = await pending(person);
    expect(await attempt(later, PRICE)).toEqual({ result: 'over_daily_limit', spent: PRICE });
    stores.clock.advance(1);
    await approved(later, PRICE);
    expect(await counted(person)).toEqual([later.elicitationId]);
  });

  test.each([refused, decline, cancel, expire, notFinished])(
    'stops counting an approval that is not paid: %j',
    async end => {
      const person = somebody();
      const charging = await moved(stores.elicitations, await approved(await pending(person)), charge);
      expect(await counted(person)).toEqual([charging.elicitationId]);
      if (end === expire) stores.clock.set(charging.expiresAt);
      await moved(stores.elicitations, charging, end);
      expect(await counted(person)).toEqual([]);
    },
  );

  test('keeps counting an approval that is paid', async () => {
    const person = somebody();
    const charging = await approved(await pending(person));
    await moved(stores.elicitations, charging, answer(charging));
    expect(await counted(person)).toEqual([charging.elicitationId]);
  });

  test('counts one approval, not two, of a payment that was reopened', async () => {
    const person = somebody();
    const back = await moved(stores.elicitations, await approved(await pending(person)), notFinished);
    await approved(back, PRICE);
    expect(await counted(person)).toEqual([back.elicitationId]);
  });

  test('the end of a payment without an approval releases no approval', async () => {
    const person = somebody();
    const one = await approved(await pending(person));
    await moved(stores.elicitations, await pending(person), declineAtOnce);
    expect(await counted(person)).toEqual([one.elicitationId]);
  });

  test('limits each person and each MCP server separately', async () => {
    const person = somebody();
    await approved(await pending(person), PRICE);
    await approved(await pending(somebody()), PRICE);
    await approved(await pending(person, 'payment', 'calendar'), PRICE);
    expect(await counted(person, 'calendar')).toHaveLength(1);
  });

  test('counts a repeated commit once', async () => {
    const person = somebody();
    const current = await pending(person);
    const request = { current, operationId: operation(), ...approve, countWithin: PRICE };
    const first = await stores.elicitations.transition(request);
    expect(await stores.elicitations.transition(request)).toEqual(first);
    expect(await counted(person)).toHaveLength(1);
  });

  test('does not count an approval without a limit', async () => {
    const person = somebody();
    await moved(stores.elicitations, await pending(person), approve);
    expect(await counted(person)).toEqual([]);
  });
});

const byId = (a: { elicitationId: string }, b: { elicitationId: string }) =>
  a.elicitationId < b.elicitationId ? -1 : 1;
