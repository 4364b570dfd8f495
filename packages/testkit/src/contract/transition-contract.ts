import { type ElicitationId, eventOf, shardIn, transitions } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { CROWD, crowd, eventsOf, suite } from './contract-stores.ts';
import {
  ask,
  cancel,
  complete,
  connectionFor,
  created,
  decline,
  declineAtOnce,
  engage,
  expire,
  fail,
  hold,
  type Move,
  moved,
  oneTimeFor,
  operation,
  retry,
  somebody,
  TTL_MS,
  widen,
} from './samples.ts';

/** ElicitationStore.transition and due: one commit per version, in time, with all its effects or none. */
export const describeTransition = suite('transition', stores => {
  const pending = () => created(stores.elicitations, ask(somebody()));
  const at = async (...moves: Move[]) => moved(stores.elicitations, await pending(), ...moves);
  const announced = (elicitationId: ElicitationId) => eventsOf(stores, { elicitationId });

  test.each<{ path: string; moves: Move[]; expected: object }>([
    { path: 'engage', moves: [engage], expected: { status: 'active', attempt: 'attempt-1' } },
    {
      path: 'engage, retry',
      moves: [engage, retry],
      expected: { status: 'pending', retryReason: 'provider_denied' },
    },
    { path: 'engage, retry, engage', moves: [engage, retry, engage], expected: { status: 'active' } },
    { path: 'engage, hold', moves: [engage, hold], expected: { status: 'verifying', attempt: 'verification-1' } },
    { path: 'engage, hold, fail', moves: [engage, hold, fail], expected: { status: 'failed' } },
    { path: 'engage, fail', moves: [engage, fail], expected: { status: 'failed', failure: 'wrong_account' } },
    { path: 'engage, decline', moves: [engage, decline], expected: { status: 'declined' } },
    { path: 'engage+decline', moves: [declineAtOnce], expected: { status: 'declined' } },
    { path: 'widen', moves: [widen], expected: { request: { scopes: ['admin', 'repo'] } } },
    { path: 'widen, engage', moves: [widen, engage], expected: { request: { scopes: ['admin', 'repo'] } } },
    { path: 'cancel', moves: [cancel], expected: { status: 'cancelled' } },
    { path: 'engage, cancel', moves: [engage, cancel], expected: { status: 'cancelled' } },
  ])('$path', async ({ moves, expected }) => {
    const start = await pending();
    stores.clock.advance(1_000);
    const end = await moved(stores.elicitations, start, ...moves);
    const { status: _, request: __, ...unchanged } = start;
    const isOver = !['pending', 'active', 'verifying'].includes(end.status);
    expect(end).toMatchObject({ ...unchanged, request: start.request, ...expected, version: 1 + moves.length });
    expect('endedAt' in end && end.endedAt).toBe(isOver && stores.clock.now());
    expect(await stores.elicitations.read(start.elicitationId)).toEqual(end);
    const ids = (await announced(start.elicitationId)).map(event => event.eventId);
    expect(ids).toEqual(Array.from({ length: end.version }, (_, n) => eventOf({ ...end, version: n + 1 }).eventId));
  });

  test('an undefined member of the next status removes nothing that was asked', async () => {
    const start = await pending();
    const returned = { ...retry, next: { ...retry.next, scopes: undefined, missing: undefined } } as const;
    await moved(stores.elicitations, start, engage, returned);
    expect((await stores.elicitations.read(start.elicitationId))?.request).toEqual(start.request);
  });

  test('drops members of a status when the status changes', async () => {
    expect(await at(engage, retry, engage)).not.toHaveProperty('retryReason');
    expect(await at(engage, retry)).not.toHaveProperty('attempt');
    expect(await at(engage, cancel)).not.toHaveProperty('attempt');
  });

  test('each event contains its version, status and origin', async () => {
    const elicitation = await at(engage, cancel);
    expect(await announced(elicitation.elicitationId)).toEqual(
      (['pending', 'active', 'cancelled'] as const).map((status, n) => ({
        eventId: eventOf({ ...elicitation, version: n + 1 }).eventId,
        type: `elicitation.${status}`,
        elicitationId: elicitation.elicitationId,
        mcpServerId: 'issue-tracker',
        kind: 'authorization',
      })),
    );
  });

  test('completing stores the connection in the same commit', async () => {
    const active = await at(engage);
    const completed = await moved(stores.elicitations, active, complete(active));
    const connection = connectionFor(active.subject, active.elicitationId);
    expect(completed).toMatchObject({ status: 'completed', outcome: { connectionId: connection.connectionId } });
    expect(await stores.elicitations.read(active.elicitationId)).toEqual(completed);
    const now = stores.clock.now();
    const stored = { ...connection, generation: 1, createdAt: now, updatedAt: now };
    expect(await stores.connections.read(connection.connectionId)).toEqual(stored);
  });

  test('a transition from an older version is a conflict without effects', async () => {
    const first = await pending();
    const active = await moved(stores.elicitations, first, engage);
    const record = oneTimeFor(first.elicitationId);
    const stale = {
      current: first,
      operationId: operation(),
      ...engage,
      putOneTime: { record, ttlMs: TTL_MS },
      putConnection: connectionFor(first.subject, first.elicitationId),
    };
    expect(await stores.elicitations.transition(stale)).toEqual({ result: 'conflict', current: active });
    expect(await stores.elicitations.read(first.elicitationId)).toEqual(active);
    expect(await stores.oneTime.read(shardIn(first.elicitationId), record.digest)).toBeUndefined();
    expect(await stores.connections.read(stale.putConnection.connectionId)).toBeUndefined();
    expect(await announced(first.elicitationId)).toHaveLength(2);
  });

  test('a repeat of the last transition under its operation succeeds without a change', async () => {
    const active = await at(engage);
    const move = { current: active, operationId: operation(), ...complete(active) };
    const first = await stores.elicitations.transition(move);
    stores.clock.advance(5_000);
    expect(await stores.elicitations.transition(move)).toEqual(first);
    expect(await announced(active.elicitationId)).toHaveLength(3);
    const { connectionId } = connectionFor(active.subject, active.elicitationId);
    expect(await stores.connections.read(connectionId)).toMatchObject({ generation: 1 });
  });

  test('reports an unknown elicitation as missing', async () => {
    const current = { ...(await pending()), elicitationId: ask(somebody()).elicitation.elicitationId };
    expect(await stores.elicitations.transition({ current, operationId: operation(), ...engage })).toEqual({
      result: 'missing',
    });
  });

  test.each([...new Set(transitions.map(({ event }) => event))])(
    'no event leads out of a terminal status: %s',
    async event => {
      const current = await at(cancel);
      const move = { current, operationId: operation(), events: [event], next: { status: 'expired' } } as const;
      await expect(stores.elicitations.transition(move)).rejects.toMatchObject({ code: 'illegal_transition' });
      expect(await stores.elicitations.read(current.elicitationId)).toEqual(current);
    },
  );

  test('refuses scopes in any event except widening', async () => {
    const current = await at(engage);
    const move = { current, operationId: operation(), ...retry, next: widen.next };
    await expect(stores.elicitations.transition(move)).rejects.toMatchObject({ code: 'illegal_transition' });
    expect(await stores.elicitations.read(current.elicitationId)).toEqual(current);
  });

  test('a retry stores its reason and the missing scopes until the next attempt', async () => {
    const active = await moved(stores.elicitations, await pending(), engage);
    const next = { status: 'pending', retryReason: 'fewer_scopes', missing: ['repo'] } as const;
    const back = await moved(stores.elicitations, active, { events: ['retry'], next });
    expect(back).toMatchObject(next);
    expect(await stores.elicitations.read(back.elicitationId)).toEqual(back);
    const again = await moved(stores.elicitations, back, engage);
    expect(again).not.toHaveProperty('missing');
    expect(await stores.elicitations.read(back.elicitationId)).toEqual(again);
  });

  test('widening keeps the rest of the request and the given retry reason, and drops the name of the tool', async () => {
    const plain = ask(somebody());
    const asked = { ...plain.elicitation.request, resource: 'https://api.example.com', expectedAccount: '583231' };
    const start = await created(stores.elicitations, {
      ...plain,
      elicitation: {
        ...plain.elicitation,
        request: asked,
        requestedBy: { mcpClient: 'Example', tool: 'create_issue' },
      },
    });
    const scopes = ['admin', 'gist', 'repo'];
    const next = { status: 'pending', scopes, retryReason: 'provider_denied' } as const;
    const widened = await moved(stores.elicitations, start, { events: ['widen'], next });
    const requestedBy = { mcpClient: 'Example' };
    expect(widened).toEqual({
      ...start,
      version: 2,
      retryReason: 'provider_denied',
      requestedBy,
      request: { ...asked, scopes },
    });
    expect(await stores.elicitations.read(start.elicitationId)).toEqual(widened);
    expect(await stores.elicitations.create(ask(start.subject))).toMatchObject({ result: 'open' });
  });

  test("applies one of many concurrent widenings of a version, before or after the user's consent", async () => {
    const current = await pending();
    const results = await crowd(nth =>
      stores.elicitations.transition({
        current,
        operationId: operation(),
        ...(nth % 2 === 0
          ? { events: ['widen'] as const, next: { status: 'pending', scopes: ['repo', `scope-${nth}`] } as const }
          : engage),
      }),
    );
    const [winner, ...others] = results.filter(result => result.result === 'applied');
    expect(others).toEqual([]);
    expect(results.filter(({ result }) => result === 'conflict')).toHaveLength(CROWD - 1);
    expect(await stores.elicitations.read(current.elicitationId)).toEqual(winner?.elicitation);
  });

  test('refuses events that do not lead to the next status', async () => {
    const current = await pending();
    const move = { current, operationId: operation(), events: ['engage'], next: { status: 'completed' } } as never;
    await expect(stores.elicitations.transition(move)).rejects.toMatchObject({ code: 'illegal_transition' });
    expect(await stores.elicitations.read(current.elicitationId)).toEqual(current);
  });

  test.each<{ move: string; from: Move[]; late: Move }>([
    { move: 'engage', from: [], late: engage },
    { move: 'engage+decline', from: [], late: declineAtOnce },
    { move: 'widen', from: [], late: widen },
    { move: 'cancel', from: [engage], late: cancel },
    { move: 'retry', from: [engage], late: retry },
    { move: 'hold', from: [engage], late: hold },
    { move: 'fail of an active one', from: [engage], late: fail },
  ])('$move is untimely from expiresAt on', async ({ from, late }) => {
    const current = await at(...from);
    stores.clock.set(current.expiresAt - 1);
    const early = { current, operationId: operation(), ...expire };
    expect(await stores.elicitations.transition(early)).toEqual({ result: 'untimely', current });
    stores.clock.set(current.expiresAt);
    const tooLate = { current, operationId: operation(), ...late };
    expect(await stores.elicitations.transition(tooLate)).toEqual({ result: 'untimely', current });
    expect(await moved(stores.elicitations, current, expire)).toMatchObject({ status: 'expired' });
  });

  test('refuses a completion from expiresAt on, and stores no connection', async () => {
    for (const current of [await at(engage), await at(engage, hold)]) {
      stores.clock.set(current.expiresAt);
      const late = { current, operationId: operation(), ...complete(current) };
      expect(await stores.elicitations.transition(late)).toEqual({ result: 'untimely', current });
      const { connectionId } = connectionFor(current.subject, current.elicitationId);
      expect(await stores.connections.read(connectionId)).toBeUndefined();
    }
  });

  test('a verification may fail at any time', async () => {
    const early = await at(engage, hold);
    expect(await moved(stores.elicitations, early, fail)).toMatchObject({ status: 'failed' });
    const late = await at(engage, hold);
    stores.clock.set(late.expiresAt + 1);
    expect(await moved(stores.elicitations, late, fail)).toMatchObject({ status: 'failed' });
  });

  test('applies exactly one of many concurrent transitions from one version', async () => {
    const current = await at(engage);
    const moves = [complete(current), cancel, decline, fail, retry];
    const results = await crowd(nth =>
      stores.elicitations.transition({ current, operationId: operation(), ...(moves[nth % moves.length] ?? cancel) }),
    );
    const [winner, ...others] = results.filter(result => result.result === 'applied');
    expect(others).toEqual([]);
    const losers = results.filter(result => result.result === 'conflict');
    expect(losers).toHaveLength(CROWD - 1);
    for (const loser of losers) expect(loser.current).toEqual(winner?.elicitation);
    expect(await announced(current.elicitationId)).toHaveLength(3);
  });

  test('a transition can shorten the lifetime, but never extend it', async () => {
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage);
    const shard = shardIn(active.elicitationId);
    const isDue = async () => (await stores.elicitations.due(shard, 1_000)).includes(active.elicitationId);
    const now = stores.clock.now();
    const held = await moved(stores.elicitations, active, { ...hold, expiresWithinMs: 1_000 });
    expect(held.expiresAt).toBe(now + 1_000);
    expect(await stores.elicitations.read(active.elicitationId)).toEqual(held);
    stores.clock.set(now + 999);
    expect(await isDue()).toBe(false);
    stores.clock.set(now + 1_000);
    expect(await isDue()).toBe(true);

    const other = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage);
    const longHeld = await moved(stores.elicitations, other, { ...hold, expiresWithinMs: TTL_MS * 10 });
    expect(longHeld.expiresAt).toBe(other.expiresAt);
  });

  test('lists expired elicitations that have not ended, oldest first, up to the limit', async () => {
    const person = somebody();
    const shard = shardIn(ask(person).elicitation.elicitationId);
    const make = (nth: number) =>
      created(stores.elicitations, ask(person, { coalescingDigest: operation(), ttlMs: TTL_MS + 3 - nth }));
    const [third, second, first, ended] = [await make(1), await make(2), await make(3), await make(4)];
    await moved(stores.elicitations, ended, cancel);
    const held = await moved(stores.elicitations, first, engage, hold);
    const mine = new Set([first, second, third, ended].map(({ elicitationId }) => elicitationId));
    const due = async (limit: number) => (await stores.elicitations.due(shard, limit)).filter(id => mine.has(id));

    stores.clock.set(held.expiresAt - 1);
    expect(await due(1_000)).toEqual([]);
    stores.clock.set(third.expiresAt);
    expect(await due(1_000)).toEqual([held, second, third].map(({ elicitationId }) => elicitationId));
    expect(await stores.elicitations.due(shard, 2)).toHaveLength(2);
    await moved(stores.elicitations, second, expire);
    await moved(stores.elicitations, held, fail);
    expect(await due(1_000)).toEqual([third.elicitationId]);
  });
});
