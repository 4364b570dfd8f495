import { expect, test } from 'vitest';
import { crowd, suite } from './contract-stores.ts';
import { ask, cancel, complete, created, engage, from, moved, operation, somebody, TTL_MS } from './samples.ts';

/** MuteStore, and what ElicitationStore.create refuses for the sake of the user: muted MCP servers and too many open elicitations. */
export const describeMuteStore = suite('mutes and crowds', stores => {
  const another = (...p: Parameters<typeof ask>) => ask(p[0], { coalescingDigest: operation(), ...p[1] });

  test('mutes one MCP server for one person, until that is undone', async () => {
    const [person, other] = [somebody(), somebody()];
    expect(await stores.mutes.list(person)).toEqual([]);
    expect(await stores.mutes.mute(person, 'issue-tracker')).toBe(true);
    expect(await stores.mutes.list(person)).toEqual([{ mcpServerId: 'issue-tracker', mutedAt: stores.clock.now() }]);
    expect(await stores.elicitations.create(another(person))).toEqual({ result: 'muted' });
    await created(stores.elicitations, from('calendar', another(person)));
    await created(stores.elicitations, another(other));
    expect(await stores.mutes.unmute(person, 'issue-tracker')).toBe(true);
    expect(await stores.mutes.list(person)).toEqual([]);
    await created(stores.elicitations, another(person));
  });

  test('a second mute keeps the time of the first, and a second undo changes nothing', async () => {
    const person = somebody();
    const mutedAt = stores.clock.now();
    await stores.mutes.mute(person, 'issue-tracker');
    stores.clock.advance(1);
    expect(await stores.mutes.mute(person, 'issue-tracker')).toBe(false);
    await stores.mutes.mute(person, 'calendar');
    expect(await stores.mutes.list(person)).toEqual([
      { mcpServerId: 'issue-tracker', mutedAt },
      { mcpServerId: 'calendar', mutedAt: mutedAt + 1 },
    ]);
    expect(await stores.mutes.unmute(person, 'calendar')).toBe(true);
    expect(await stores.mutes.unmute(person, 'calendar')).toBe(false);
    await stores.mutes.clear(person);
    expect(await stores.mutes.list(person)).toEqual([]);
  });

  test('a muted MCP server still gets a stored connection and the elicitation that is open', async () => {
    const person = somebody();
    const request = ask(person);
    const open = await created(stores.elicitations, request);
    await stores.mutes.mute(person, 'issue-tracker');
    const repeat = ask(person);
    expect(await stores.elicitations.create(repeat)).toEqual({ result: 'open', elicitationId: open.elicitationId });
    const active = await moved(stores.elicitations, open, engage);
    await moved(stores.elicitations, active, complete(active));
    expect(await stores.elicitations.create(ask(person))).toMatchObject({ result: 'existing_connection' });
  });

  test('S105: no elicitation is created after a mute that many requests race', async () => {
    const person = somebody();
    const outcomes = await crowd(async nth => {
      if (nth !== 25) return stores.elicitations.create(another(person));
      await stores.mutes.mute(person, 'issue-tracker');
      const then = await stores.elicitations.create(another(person));
      expect(then).toEqual({ result: 'muted' });
      return then;
    });
    const made = outcomes.filter(({ result }) => result === 'created');
    expect(outcomes.filter(({ result }) => result === 'muted')).toHaveLength(outcomes.length - made.length);
    expect(await stores.elicitations.listOpen(person, ['issue-tracker'])).toHaveLength(made.length);
  });

  test('S104: of many concurrent requests, as many are created as may be open, and an end makes room for one', async () => {
    const person = somebody();
    const make = () => stores.elicitations.create({ ...another(person), openMax: 7 });
    const outcomes = await crowd(make);
    const made = outcomes.flatMap(outcome => (outcome.result === 'created' ? [outcome.elicitation] : []));
    expect(made).toHaveLength(7);
    const refused = outcomes.filter(({ result }) => result !== 'created');
    for (const outcome of refused) expect(outcome).toEqual({ result: 'crowded', retryAfterMs: TTL_MS });
    // Another MCP server and another person have room.
    expect(await stores.elicitations.create(from('calendar', { ...another(person), openMax: 1 }))).toMatchObject({
      result: 'created',
    });
    await created(stores.elicitations, { ...another(somebody()), openMax: 1 });
    const [first] = made;
    await moved(stores.elicitations, first ?? expect.unreachable(), cancel);
    const again = await crowd(make);
    expect(again.filter(({ result }) => result === 'created')).toHaveLength(1);
  });

  test('an expired elicitation makes room before a sweep ends it', async () => {
    const person = somebody();
    const make = () => stores.elicitations.create({ ...another(person), openMax: 1 });
    await make();
    stores.clock.advance(TTL_MS - 1);
    expect(await make()).toEqual({ result: 'crowded', retryAfterMs: 1 });
    stores.clock.advance(1);
    expect(await make()).toMatchObject({ result: 'created' });
  });
});
