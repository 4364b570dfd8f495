import {
  type ConnectionId,
  type Elicitation,
  EventCarrier,
  type ListEntry,
  newRevocationId,
  type RecordList,
  type Shard,
  type Subject,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { expect, test } from 'vitest';
import { suite } from './contract-stores.ts';
import { answer, askFor, credentialFor } from './kind-samples.ts';
import {
  ask,
  cancel,
  complete,
  connectionIdFor,
  created,
  decline,
  engage,
  expire,
  from,
  type Move,
  moved,
  operation,
  retry,
  somebody,
  TTL_MS,
} from './samples.ts';

const DAY_MS = 24 * 3_600_000;

/** RecordLists and CountReader: what operators look at, written with the records themselves. */
export const describeListing = suite('lists of a shard', stores => {
  const make = (person: Subject) => created(stores.elicitations, ask(person, { coalescingDigest: operation() }));
  const all = (list: RecordList, shard: Shard) => stores.lists.page({ list, shard, before: undefined, limit: 100 });
  const idsOf = (entries: readonly ListEntry[]) => entries.map(({ id }) => id);

  async function connected(person: Subject): Promise<ConnectionId> {
    const answer = await stores.connections.read(connectionIdFor(person));
    const request = ask(person, { coalescingDigest: operation(), seen: answer === undefined ? {} : { answer } });
    const active = await moved(stores.elicitations, await created(stores.elicitations, request), engage);
    const ended = await moved(stores.elicitations, active, complete(active));
    if (ended.status !== 'completed' || ended.outcome.kind !== 'authorization') throw new Error('not connected');
    return ended.outcome.connectionId;
  }

  test('an elicitation moves from the open list to the ended list with its end', async () => {
    const person = somebody();
    const shard = shardOf(person);
    const made = await make(person);
    expect(idsOf(await all('open', shard))).toContain(made.elicitationId);
    stores.clock.advance(1);
    await moved(stores.elicitations, made, cancel);
    expect(idsOf(await all('open', shard))).not.toContain(made.elicitationId);
    expect(await all('ended', shard)).toContainEqual({ id: made.elicitationId, at: stores.clock.now() });
  });

  test.each(['decline', 'expire'] as const)('the ended list has every end: %s', async end => {
    const person = somebody();
    const made = await moved(stores.elicitations, await make(person), engage);
    if (end === 'expire') stores.clock.advance(TTL_MS);
    await moved(stores.elicitations, made, end === 'expire' ? expire : decline);
    expect(idsOf(await all('ended', shardOf(person)))).toContain(made.elicitationId);
  });

  test('an ended elicitation leaves the list with its record', async () => {
    const person = somebody();
    const early = await moved(stores.elicitations, await make(person), cancel);
    stores.clock.advance(DAY_MS);
    const late = await moved(stores.elicitations, await make(person), cancel);
    const ids = idsOf(await all('ended', shardOf(person)));
    expect(ids).toContain(late.elicitationId);
    expect(ids).not.toContain(early.elicitationId);
  });

  test('connections are listed by the last time that their user connected, until they are removed', async () => {
    const person = somebody();
    const shard = shardOf(person);
    const connectionId = await connected(person);
    stores.clock.advance(1_000);
    await connected(person);
    expect(await all('connections', shard)).toContainEqual({ id: connectionId, at: stores.clock.now() });
    const revocationId = newRevocationId(shard, systemEntropy);
    await stores.connections.remove({ connectionId, revocationId });
    expect(idsOf(await all('connections', shard))).not.toContain(connectionId);
    expect(idsOf(await all('revocations', shard))).toContain(revocationId);
  });

  test('credentials are listed until they are removed', async () => {
    const person = somebody();
    const form = await created(stores.elicitations, askFor('lasting', person));
    await moved(stores.elicitations, form, answer(form));
    const { credentialId } = credentialFor(form);
    expect(await all('credentials', shardOf(person))).toContainEqual({ id: credentialId, at: stores.clock.now() });
    await stores.credentials.remove(credentialId);
    expect(idsOf(await all('credentials', shardOf(person)))).not.toContain(credentialId);
  });

  test('pages continue after the last entry, also within a millisecond, without gap or repeat', async () => {
    const person = somebody();
    const shard = shardOf(person);
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) {
      if (n > 4) stores.clock.advance(1);
      ids.push((await make(person)).elicitationId);
    }
    const whole = await all('open', shard);
    const paged: ListEntry[] = [];
    for (let before: ListEntry | undefined; ; ) {
      const page = await stores.lists.page({ list: 'open', shard, before, limit: 2 });
      paged.push(...page);
      before = page.at(-1);
      if (page.length < 2) break;
    }
    expect(paged).toEqual(whole);
    expect(new Set(idsOf(paged)).size).toBe(paged.length);
    expect(idsOf(whole)).toEqual(expect.arrayContaining(ids));
    expect(whole.map(({ at }) => at)).toEqual(whole.map(({ at }) => at).sort((a, b) => b - a));
    expect(await stores.lists.size('open', shard)).toBe(whole.length);
  });

  const someServer = () => `s-${operation()}`;

  async function announced(mcpServerId: string, ...moves: Move[]): Promise<Elicitation> {
    const request = from(mcpServerId, ask(somebody(), { coalescingDigest: operation() }));
    return moved(stores.elicitations, await created(stores.elicitations, request), ...moves);
  }

  async function carry(elicitation: Elicitation): Promise<void> {
    const carrier = new EventCarrier(stores.outbox, { perShard: 64 });
    while ((await carrier.carry([shardOf(elicitation.subject)])).more.length > 0);
  }

  /** The counts of the days on which this elicitation moved, on the clock of the outbox. */
  async function countsOf({ elicitationId, mcpServerId, subject }: Elicitation) {
    const { entries } = await stores.outbox.read(shardOf(subject), { after: undefined, limit: 10_000 });
    const times = entries
      .filter(({ event }) => event.elicitationId === elicitationId)
      .map(({ occurredAt }) => occurredAt);
    const days = new Set(times.map(at => new Date(at).toISOString().slice(0, 10)));
    const found = await Promise.all([...days].map(day => stores.counts.read(mcpServerId, day)));
    const sizes = await Promise.all([...days].map(day => stores.counts.size(mcpServerId, day)));
    expect(sizes).toEqual(found.map(({ steps, decisions }) => steps.length + decisions.length));
    const hours = new Set(times.map(at => Math.floor(at / 3_600_000) * 3_600_000));
    for (const { at } of found.flatMap(({ steps, decisions }) => [...steps, ...decisions])) expect(hours).toContain(at);
    const untimed = <Row extends { readonly at: number }>({ at: _, ...row }: Row) => row;
    return {
      steps: found.flatMap(({ steps }) => steps.map(untimed)),
      decisions: found.flatMap(({ decisions }) => decisions.map(untimed)),
    };
  }

  test('S123: counts each step of each elicitation once, by hour, kind and provider, however often events are carried', async () => {
    // A second attempt of the user is not a second step.
    const retried = await announced(someServer(), engage, retry, engage);
    await carry(retried);
    await carry(retried);
    const { steps, decisions } = await countsOf(retried);
    const of = { kind: 'authorization', provider: 'github', count: 1 };
    expect(steps).toHaveLength(2);
    expect(steps).toEqual(
      expect.arrayContaining([
        { ...of, step: 'issued' },
        { ...of, step: 'opened' },
      ]),
    );
    expect(decisions).toEqual([]);
  });

  test('counts decisions by the time they took, and only decisions of users', async () => {
    const mcpServerId = someServer();
    const slow = await announced(mcpServerId);
    stores.clock.advance(5_000);
    const declined = await moved(stores.elicitations, slow, engage, decline);
    await carry(await announced(mcpServerId, cancel));
    await carry(declined);
    const { steps, decisions } = await countsOf(declined);
    expect(decisions).toEqual([{ kind: 'authorization', withinSeconds: 8, count: 1 }]);
    const counted = Object.fromEntries(steps.map(({ step, count }) => [step, count]));
    expect(counted).toEqual({ issued: 2, opened: 1, declined: 1, cancelled: 1 });
  });

  test('counts of other MCP servers and other days are separate', async () => {
    const made = await announced(someServer());
    await carry(made);
    expect(await countsOf({ ...made, mcpServerId: someServer() })).toEqual({ steps: [], decisions: [] });
    expect(await stores.counts.read(made.mcpServerId, '1999-12-31')).toEqual({ steps: [], decisions: [] });
    expect(await stores.counts.size(made.mcpServerId, '1999-12-31')).toBe(0);
  });
});
