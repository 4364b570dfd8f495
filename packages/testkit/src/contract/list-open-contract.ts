import type { Subject } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { crowd, suite } from './contract-stores.ts';
import { answer, askFor } from './kind-samples.ts';
import {
  ask,
  cancel,
  complete,
  created,
  decline,
  engage,
  expire,
  from,
  hold,
  MINUTE,
  moved,
  operation,
  somebody,
  TTL_MS,
} from './samples.ts';

/** ElicitationStore.listOpen and listEnded: the elicitations that a user can still decide on, and those that the user ended. */
export const describeListOpen = suite('open elicitations of a person', stores => {
  /** A request that differs from all others of the user. */
  const another = (person: Subject, ttlMs = TTL_MS) => ask(person, { coalescingDigest: operation(), ttlMs });
  const make = (person: Subject, ttlMs?: number) => created(stores.elicitations, another(person, ttlMs));
  const list = (person: Subject) => stores.elicitations.listOpen(person, ['issue-tracker', 'calendar']);

  test('lists the elicitations of one person, of every MCP server, oldest first', async () => {
    const [person, other] = [somebody(), somebody()];
    expect(await list(person)).toEqual([]);
    const first = await make(person, 2 * TTL_MS);
    stores.clock.advance(1);
    const second = await created(stores.elicitations, from('calendar', another(person)));
    await make(other);
    const active = await moved(stores.elicitations, first, engage);
    expect(await list(person)).toEqual([active, second]);
    const held = await moved(stores.elicitations, active, hold);
    expect(await list(person)).toEqual([held, second]);
  });

  test('omits ended elicitations', async () => {
    const person = somebody();
    const [cancelled, completed, kept] = [await make(person), await make(person), await make(person)];
    await moved(stores.elicitations, cancelled, cancel);
    const active = await moved(stores.elicitations, completed, engage);
    await moved(stores.elicitations, active, complete(active));
    expect(await list(person)).toEqual([kept]);
  });

  test('omits expired elicitations, before and after the sweep ends them', async () => {
    const person = somebody();
    const brief = await make(person);
    const longer = await make(person, 2 * TTL_MS);
    stores.clock.set(brief.expiresAt - 1);
    expect(await list(person)).toHaveLength(2);
    stores.clock.set(brief.expiresAt);
    expect(await list(person)).toEqual([longer]);
    await moved(stores.elicitations, brief, expire);
    expect(await list(person)).toEqual([longer]);
  });

  test('follows a transition that shortens the lifetime', async () => {
    const person = somebody();
    const active = await moved(stores.elicitations, await make(person), engage);
    const held = await moved(stores.elicitations, active, { ...hold, expiresWithinMs: 1_000 });
    stores.clock.set(held.expiresAt - 1);
    expect(await list(person)).toEqual([held]);
    stores.clock.set(held.expiresAt);
    expect(await list(person)).toEqual([]);
  });

  const ended = async (person: Subject) => (await stores.elicitations.listEnded(person)).map(id => id.elicitationId);
  async function completed(person: Subject) {
    const asked = { ...askFor('confirmation', person), coalescingDigest: operation() };
    const pending = await created(stores.elicitations, asked);
    return moved(stores.elicitations, pending, answer(pending));
  }

  test('S102: lists the elicitations that a person ended, newest first, in the commit that ends them', async () => {
    const [person, other] = [somebody(), somebody()];
    expect(await ended(person)).toEqual([]);
    const first = await completed(person);
    stores.clock.advance(1);
    const active = await moved(stores.elicitations, await make(person), engage);
    expect(await ended(person)).toEqual([first.elicitationId]);
    const declined = await moved(stores.elicitations, active, decline);
    expect(await stores.elicitations.listEnded(person)).toEqual([declined, first]);
    expect(await ended(other)).toEqual([]);
  });

  test('S102: what an MCP server withdraws or lets expire does not push out the decisions of a person', async () => {
    const person = somebody();
    const own = await completed(person);
    const brief = await make(person);
    for (let nth = 0; nth < 101; nth += 1) await moved(stores.elicitations, await make(person), cancel);
    stores.clock.set(brief.expiresAt);
    await moved(stores.elicitations, brief, expire);
    expect(await ended(person)).toEqual([own.elicitationId]);
  });

  test('S102: an application that vouches for its users does not push out what a person decided elsewhere', async () => {
    const person = somebody();
    const own = await completed(person);
    const vouched = async () => {
      const asked = { ...askFor('confirmation', person), coalescingDigest: operation() };
      const external = { ...asked, elicitation: { ...asked.elicitation, identityMode: 'external' as const } };
      const pending = await created(stores.elicitations, external);
      return moved(stores.elicitations, pending, answer(pending));
    };
    const others = [];
    for (let nth = 0; nth < 101; nth += 1) others.push(await vouched());
    expect(await ended(person)).toEqual([own.elicitationId]);
    const listed = await stores.elicitations.listEnded(person, own.mcpServerId);
    expect(listed).toHaveLength(100);
    expect(listed.map(({ elicitationId }) => elicitationId)).not.toContain(own.elicitationId);
    expect(await stores.elicitations.listEnded(person, 'calendar')).toEqual([]);
  });

  test('S102: lists the hundred that ended last', async () => {
    const person = somebody();
    const made = [];
    for (let nth = 0; nth < 103; nth += 1) {
      stores.clock.advance(1);
      made.push(await completed(person));
    }
    expect(await ended(person)).toEqual(
      made
        .slice(3)
        .reverse()
        .map(({ elicitationId }) => elicitationId),
    );
  });

  test('lists only the named MCP servers', async () => {
    const person = somebody();
    const mine = await make(person);
    await created(stores.elicitations, from('calendar', another(person)));
    expect(await stores.elicitations.listOpen(person, ['issue-tracker'])).toEqual([mine]);
    expect(await stores.elicitations.listOpen(person, [])).toEqual([]);
  });

  test('S104: lists the elicitation of an MCP server beside all that another one may have open, whenever they end', async () => {
    const person = somebody();
    const honest = await created(stores.elicitations, from('calendar', another(person, MINUTE)));
    const outcomes = await crowd(nth =>
      stores.elicitations.create({ ...another(person, 100 * TTL_MS + nth), openMax: 20 }),
    );
    expect(outcomes.filter(({ result }) => result === 'created')).toHaveLength(20);
    const listed = await list(person);
    expect(listed).toHaveLength(21);
    expect(listed).toContainEqual(honest);
  });
});
