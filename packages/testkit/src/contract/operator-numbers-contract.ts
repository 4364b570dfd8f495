import { shardOf } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { connect } from './connect.ts';
import { freshSuite, type Suite } from './contract-stores.ts';
import { ask, cancel, created, from, moved, operation, somebody } from './samples.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What operators see about a deployment as a whole: stored records, refreshes, health, ages of keys. */
export const operatorNumberSuites: readonly Suite[] = [
  freshSuite('S171: stored records of an MCP server', stores => {
    const useOf = async (...ids: readonly string[]) =>
      (await stores.storageUse.read(ids)).map(({ owner, records }) => [owner, records]);

    test('add up over the shards, until they have expired', async () => {
      const people = Array.from({ length: 5 }, somebody);
      for (const person of people) await created(stores.elicitations, from('tracker', ask(person)));
      const [tracker] = await stores.storageUse.read(['tracker']);
      expect(tracker?.records).toBe(people.length);
      expect(tracker?.bytes).toBeGreaterThan(1_000 * people.length);
      const shards = new Set(people.map(shardOf));
      expect(tracker?.shards.filter(({ records }) => records > 0)).toHaveLength(shards.size);
      stores.clock.advance(3 * DAY_MS);
      // Nothing has dropped them from the ledgers yet.
      expect(await useOf('tracker')).toEqual([['tracker', 0]]);
    });

    test('are read for any number of MCP servers, and for one without records', async () => {
      const ids = Array.from({ length: 35 }, (_, at) => `server-${at}`);
      for (const id of ids.slice(1)) await created(stores.elicitations, from(id, ask(somebody())));
      expect(await useOf(...ids)).toEqual(ids.map((id, at) => [id, at === 0 ? 0 : 1]));
      expect(await useOf()).toEqual([]);
    });

    test('S203: tell which part lasts, of an MCP server and of a group', async () => {
      const lastingOf = async (owner: string) =>
        (await stores.storageUse.read([owner]))[0]?.shards.reduce((sum, { lasting }) => sum + lasting.records, 0);
      for (const owner of ['tracker', 'group:team']) await connect(stores, somebody(), { owner });
      stores.clock.advance(3 * DAY_MS);
      expect(await useOf('tracker', 'group:team')).toEqual([
        ['tracker', 1],
        ['group:team', 1],
      ]);
      expect([await lastingOf('tracker'), await lastingOf('group:team')]).toEqual([1, 1]);
    });

    test('follow the record to its retention when it ends', async () => {
      const made = await created(stores.elicitations, from('tracker', ask(somebody())));
      await moved(stores.elicitations, made, cancel);
      expect(await useOf('tracker')).toEqual([['tracker', 1]]);
    });
  }),

  freshSuite('S170: refreshes of a provider', stores => {
    const at = Date.parse('2026-11-23T09:00:00Z');
    const refreshed = (count: number) => ({ at, outcome: 'refreshed', count }) as const;
    const batch = (...counts: readonly (ReturnType<typeof refreshed> | typeof failed)[]) => ({
      provider: 'forge',
      day: '2026-11-23',
      operationId: operation(),
      counts,
    });
    const failed = { at: at + HOUR_MS, outcome: 'postponed', code: 'outbound_timeout', count: 1 } as const;
    const read = () => stores.refreshCounts.read('forge', '2026-11-23');

    test('are counted over all replicas, by hour, outcome and reason', async () => {
      await stores.refreshCounts.add('a', batch(refreshed(3), failed));
      await stores.refreshCounts.add('b', batch(refreshed(2)));
      expect(await read()).toEqual([refreshed(5), failed]);
      expect(await stores.refreshCounts.read('forge', '2026-11-24')).toEqual([]);
      expect(await stores.refreshCounts.read('other', '2026-11-23')).toEqual([]);
    });

    test('count once, even if a batch is sent twice while other replicas count', async () => {
      const lost = batch(refreshed(3));
      await stores.refreshCounts.add('a', lost);
      await stores.refreshCounts.add('b', batch(refreshed(1)));
      await Promise.all([stores.refreshCounts.add('a', lost), stores.refreshCounts.add('a', lost)]);
      expect(await read()).toEqual([refreshed(4)]);
    });
  }),

  freshSuite('health', stores => {
    test('answers, and refuses no writes', async () => {
      await stores.ping();
      expect(stores.refusals()).toEqual([]);
    });
  }),

  freshSuite('S171: ages of keys', stores => {
    test('keys of the first gateway may be older, later ones are not, and no age changes', async () => {
      const began = stores.clock.now();
      await stores.keyAges.note(['vault:first']);
      stores.clock.advance(DAY_MS);
      await stores.keyAges.note(['vault:second', 'vault:first']);
      stores.clock.advance(DAY_MS);
      await stores.keyAges.note(['vault:second', 'vault:first']);
      const { ages } = await stores.keyAges.read();
      expect(Object.fromEntries(ages)).toEqual({
        'vault:first': { since: began, isOrEarlier: true },
        'vault:second': { since: began + DAY_MS, isOrEarlier: false },
      });
    });

    test('an API key has the time of its last use', async () => {
      await stores.keyAges.noteUse('ak_1', 1_000);
      await stores.keyAges.noteUse('ak_1', 2_000);
      expect(Object.fromEntries((await stores.keyAges.read()).uses)).toEqual({ ak_1: 2_000 });
    });
  }),
];
