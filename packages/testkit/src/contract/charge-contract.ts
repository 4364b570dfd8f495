import { type Elicitation, eventOf, shardIn, type TransitionElicitation } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { CROWD, crowd, eventsOf, suite } from './contract-stores.ts';
import {
  answer,
  approval,
  approve,
  askFor,
  charge,
  chargeAt,
  notFinished,
  requests,
  type Sample,
} from './kind-samples.ts';
import { cancel, created, decline, expire, MINUTE, type Move, moved, operation, somebody, TTL_MS } from './samples.ts';

const refused: Move = { events: ['fail'], next: { status: 'failed', failure: 'processor_refused' } };

/** ElicitationStore for approvals: requests stay unchanged, approvals stay as given, and a charge may end at any time. */
export const describeCharge = suite('approving and charging', stores => {
  const pending = (sample: Sample = 'payment') => created(stores.elicitations, askFor(sample, somebody()));
  const at = async (...moves: Move[]) => moved(stores.elicitations, await pending(), ...moves);
  const read = ({ elicitationId }: Elicitation) => stores.elicitations.read(elicitationId);
  const attempted = (current: Elicitation, move: Move) =>
    stores.elicitations.transition({ current, operationId: operation(), ...move });
  const due = async ({ elicitationId }: Elicitation) =>
    (await stores.elicitations.due(shardIn(elicitationId), 1_000)).includes(elicitationId);

  test.each(Object.keys(requests) as Sample[])('a request is stored unchanged: %s', async sample => {
    const elicitation = await pending(sample);
    expect(elicitation.request).toEqual(requests[sample]);
    expect(await read(elicitation)).toEqual(elicitation);
    const [event] = (await eventsOf(stores, elicitation)).slice(-1);
    expect(event).toEqual(eventOf(elicitation));
    expect(event?.kind).toBe(requests[sample].kind);
  });

  test('keeps the rejected generation', async () => {
    const plain = askFor('lasting', somebody());
    const request = { ...requests.lasting, rejectedGeneration: 1_767_225_600_000_001 };
    const elicitation = await created(stores.elicitations, {
      ...plain,
      elicitation: { ...plain.elicitation, request },
    });
    expect(await read(elicitation)).toMatchObject({ request });
  });

  test.each(['approval', 'confirmation', 'once', 'form'] as const)('%s ends in one commit', async sample => {
    const start = await pending(sample);
    stores.clock.advance(1_000);
    const end = await moved(stores.elicitations, start, answer(start));
    const { outcome } = answer(start).next as { outcome: object };
    expect(end).toEqual({ ...start, version: 2, status: 'completed', outcome, endedAt: stores.clock.now() });
    expect(await read(start)).toEqual(end);
    expect(JSON.stringify(end)).not.toContain('sealed-result');
  });

  test('a payment is approved, charged and paid, and keeps the approval throughout', async () => {
    const charging = await at(approve);
    expect(charging).toMatchObject({ status: 'active', version: 2, attempt: 'attempt-1', approval });
    expect(charging).not.toHaveProperty('charge');
    expect(await read(charging)).toEqual(charging);
    const charged = await moved(stores.elicitations, charging, charge);
    expect(charged).toEqual({ ...charging, version: 3, charge: chargeAt });
    expect(await read(charged)).toEqual(charged);
    const paid = await moved(stores.elicitations, charged, answer(charged));
    expect(paid).toMatchObject({ status: 'completed', outcome: { approval, processorReference: 'pi_1' } });
    expect(paid).not.toHaveProperty('charge');
    expect(await read(paid)).toEqual(paid);
  });

  test('returning drops approval and charge, and the next approval starts from scratch', async () => {
    const back = await at(approve, charge, notFinished);
    expect(back).toMatchObject({ status: 'pending', retryReason: 'payment_not_finished' });
    for (const dropped of ['approval', 'charge', 'attempt']) expect(back).not.toHaveProperty(dropped);
    expect(await read(back)).toEqual(back);
    const again = await moved(stores.elicitations, back, approve);
    expect(again).not.toHaveProperty('charge');
    expect(await read(again)).toEqual(again);
  });

  const charged = { ...charge.next, charge: { reference: 'cs_2', url: 'https://checkout.example.com/2' } };
  test.each<{ what: string; from: Move[]; move: Move | ((of: Elicitation) => Move) }>([
    {
      what: 'an approval that was not given by engaging',
      from: [approve],
      move: { ...charge, next: { ...charge.next, approval: { ...approval, method: 'button' } } as Move['next'] },
    },
    { what: 'a second charge', from: [approve, charge], move: { ...charge, next: charged as Move['next'] } },
    { what: 'a charge with the approval', from: [], move: { ...approve, next: charge.next } },
    {
      what: 'a charge of another attempt',
      from: [approve],
      move: { ...charge, next: { ...charge.next, attempt: 'attempt-2' } as Move['next'] },
    },
    {
      what: 'a payment engaged without approval',
      from: [],
      move: { events: ['engage'], next: { status: 'active', attempt: 'attempt-1' } },
    },
    { what: 'an outcome of other terms', from: [], move: of => otherDigest(answer(of)) },
    { what: 'a payment that no processor has taken', from: [], move: answer },
  ])('$what is refused', async ({ from, move }) => {
    const current = await at(...from);
    const call = attempted(current, typeof move === 'function' ? move(current) : move);
    await expect(call).rejects.toMatchObject({ code: 'illegal_transition' });
    expect(await read(current)).toEqual(current);
  });

  function otherDigest(move: Move): Move {
    const { outcome, status } = move.next as { status: 'completed'; outcome: { kind: 'payment' } };
    return { ...move, next: { status, outcome: { ...outcome, digest: 'another' } } as Move['next'] };
  }

  describe('time', () => {
    test('refuses an approval from expiresAt on', async () => {
      for (const [start, move] of [
        [await pending(), approve],
        [await pending('confirmation'), answer(await pending('confirmation'))],
      ] as const) {
        stores.clock.set(start.expiresAt);
        expect(await attempted(start, move)).toEqual({ result: 'untimely', current: start });
        expect(await moved(stores.elicitations, start, expire)).toMatchObject({ status: 'expired' });
      }
    });

    const settlements: { what: string; move: (of: Elicitation) => Move; status: string }[] = [
      { what: 'charge', move: () => charge, status: 'active' },
      { what: 'complete', move: answer, status: 'completed' },
      { what: 'fail', move: () => refused, status: 'failed' },
      { what: 'decline', move: () => decline, status: 'declined' },
      { what: 'cancel', move: () => cancel, status: 'cancelled' },
    ];
    test.each(settlements)('while charging, $what counts before and after expiresAt', async ({ move, status }) => {
      const early = await at(approve);
      expect(await moved(stores.elicitations, early, move(early))).toMatchObject({ status });
      const late = await at(approve);
      stores.clock.set(late.expiresAt + TTL_MS);
      expect(await moved(stores.elicitations, late, move(late))).toMatchObject({ status });
    });

    test('a retry while charging reopens the payment before expiresAt and expires it afterwards', async () => {
      const charging = await at(approve, charge);
      stores.clock.set(charging.expiresAt - 1);
      expect(await attempted(charging, expire)).toEqual({ result: 'untimely', current: charging });
      stores.clock.set(charging.expiresAt);
      expect(await attempted(charging, notFinished)).toEqual({ result: 'untimely', current: charging });
      expect(await moved(stores.elicitations, charging, expire)).toMatchObject({ status: 'expired' });
      const other = await at(approve, charge);
      stores.clock.set(other.expiresAt - 1);
      expect(await moved(stores.elicitations, other, notFinished)).toMatchObject({ status: 'pending' });
    });
  });

  describe('a repeated request', () => {
    const again = async ({ subject }: Elicitation) => stores.elicitations.create(askFor('payment', subject));

    test('returns the charging elicitation even after expiresAt: it may have been paid', async () => {
      const charging = await at(approve);
      const met = { result: 'open', elicitationId: charging.elicitationId };
      expect(await again(charging)).toEqual(met);
      stores.clock.set(charging.expiresAt);
      expect(await again(charging)).toEqual(met);
      const found = await moved(stores.elicitations, charging, charge);
      stores.clock.advance(TTL_MS);
      expect(await again(charging)).toEqual(met);
      await moved(stores.elicitations, found, answer(found));
      expect(await again(charging)).toEqual(met);
    });

    test.each([refused, decline, cancel, expire])('creates a new elicitation after an unpaid end: %j', async move => {
      const charging = await at(approve);
      stores.clock.set(charging.expiresAt);
      await moved(stores.elicitations, charging, move);
      expect(await again(charging)).toMatchObject({ result: 'created' });
    });

    test('creates a new elicitation once the returned one has expired', async () => {
      const back = await at(approve, notFinished);
      expect(await again(back)).toMatchObject({ result: 'open' });
      stores.clock.set(back.expiresAt);
      expect(await again(back)).toMatchObject({ result: 'created' });
    });
  });

  describe('charging past expiresAt', () => {
    test('a charging elicitation is due like any other, and not again before the postponed time', async () => {
      const charging = await at(approve);
      stores.clock.set(charging.expiresAt - 1);
      expect(await due(charging)).toBe(false);
      stores.clock.set(charging.expiresAt);
      expect(await due(charging)).toBe(true);
      await stores.elicitations.postpone(charging.elicitationId, MINUTE);
      expect(await due(charging)).toBe(false);
      expect(await read(charging)).toEqual(charging);
      stores.clock.advance(MINUTE - 1);
      expect(await due(charging)).toBe(false);
      stores.clock.advance(1);
      expect(await due(charging)).toBe(true);
    });

    test('a charging elicitation is kept, and returned for a repeated request, however often it was postponed', async () => {
      const charging = await at(approve);
      stores.clock.set(charging.expiresAt);
      for (let nth = 0; nth < 5; nth += 1) {
        await stores.elicitations.postpone(charging.elicitationId, MINUTE);
        stores.clock.advance(MINUTE);
      }
      expect(await read(charging)).toEqual(charging);
      expect(await stores.elicitations.create(askFor('payment', charging.subject))).toMatchObject({ result: 'open' });
      expect(await moved(stores.elicitations, charging, answer(charging))).toMatchObject({ status: 'completed' });
      expect(await due(charging)).toBe(false);
    });

    test('postponing an ended or unknown elicitation restores nothing', async () => {
      const charging = await at(approve);
      stores.clock.set(charging.expiresAt);
      await moved(stores.elicitations, charging, expire);
      await stores.elicitations.postpone(charging.elicitationId, MINUTE);
      const { elicitationId } = askFor('payment', somebody()).elicitation;
      await stores.elicitations.postpone(elicitationId, MINUTE);
      stores.clock.advance(MINUTE);
      expect(await due(charging)).toBe(false);
      expect(await stores.elicitations.due(shardIn(elicitationId), 1_000)).not.toContain(elicitationId);
    });
  });

  describe('concurrent transitions', () => {
    const announced = (of: Elicitation) => eventsOf(stores, of);

    async function raced(current: Elicitation, moves: readonly Move[]): Promise<Elicitation> {
      const results = await crowd(nth =>
        stores.elicitations.transition({
          current,
          operationId: operation(),
          ...(moves[nth % moves.length] as Omit<TransitionElicitation, 'current' | 'operationId'>),
        }),
      );
      const [winner, ...others] = results.filter(({ result }) => result === 'applied');
      expect(others).toEqual([]);
      expect(results.filter(({ result }) => result === 'conflict')).toHaveLength(CROWD - 1);
      if (winner?.result !== 'applied') throw new Error('no transition was applied');
      expect(await read(current)).toEqual(winner.elicitation);
      expect(await announced(current)).toHaveLength(winner.elicitation.version);
      return winner.elicitation;
    }

    test('commits one of 50 concurrent approvals', async () => {
      await raced(await pending(), [approve]);
      const confirmation = await pending('confirmation');
      await raced(confirmation, [answer(confirmation)]);
    });

    test('commits one of concurrent paid, closed and refused', async () => {
      const charging = await at(approve, charge);
      await raced(charging, [answer(charging), notFinished, refused, decline]);
    });

    test('commits one of concurrent submits and expiry around expiresAt', async () => {
      const form = await pending('form');
      stores.clock.set(form.expiresAt - 1);
      const results = await crowd(nth => {
        if (nth === CROWD / 2) stores.clock.set(form.expiresAt);
        return attempted(form, nth % 2 === 0 ? answer(form) : expire);
      });
      expect(results.filter(({ result }) => result === 'applied')).toHaveLength(1);
      expect(['completed', 'expired']).toContain((await read(form))?.status);
    });
  });
});
