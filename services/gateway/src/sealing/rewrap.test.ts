import { randomBytes } from 'node:crypto';
import {
  newElicitationId,
  type SealedRecord,
  type SealedRecordsStep,
  type Shard,
  systemEntropy,
} from '@postern/elicitation';
import { createKeyRing, createVault, kidOf, type Vault, type VaultKey } from '@postern/vault';
import { describe, expect, test } from 'vitest';
import { type RewrapOptions, rewrapAll, sealContextOf, takeCensus } from './rewrap.ts';
import { connectionContext } from './seal-contexts.ts';

const key = (kid: string): VaultKey => ({ kid, key: randomBytes(32) });
const [older, old, current, lost] = [key('older'), key('old'), key('current'), key('lost')];
const vaultOf = (...keys: VaultKey[]): Vault => createVault(createKeyRing(keys));
const vault = vaultOf(current, old, older);

let made = 0;
async function recordUnder(by: VaultKey, kind: 'connection' | 'revocation' = 'connection'): Promise<SealedRecord> {
  made += 1;
  const at = made;
  const bound = {
    owner: 'tracker',
    subject: { issuer: 'https://id.example', subject: `user-${at}` },
    provider: 'forge',
    elicitationId: newElicitationId('7f' as Shard, systemEntropy),
  };
  const sealed = await vaultOf(by).seal(`secret ${at}`, connectionContext(bound));
  return { ...bound, kind, id: `${kind}-${at}`, sealed };
}
const many = (by: VaultKey, count: number) => Promise.all(Array.from({ length: count }, () => recordUnder(by)));

/** Records in a list. A walk returns two at a time, with their current values. */
function createRecords(initial: readonly SealedRecord[]) {
  const records = new Map(initial.map(record => [record.id, record]));
  const unreadable: SealedRecordsStep['unreadable'][number][] = [];
  return {
    records,
    unreadable,
    beforeReplace: (_: SealedRecord): void => {},
    beforeStep: (_: number): void => {},
    async *walk(): AsyncGenerator<SealedRecordsStep, void, undefined> {
      yield { records: [], unreadable };
      const ids = [...records.keys()];
      for (let at = 0; at < ids.length; at += 2) {
        this.beforeStep(at);
        yield { records: ids.slice(at, at + 2).flatMap(id => records.get(id) ?? []), unreadable: [] };
      }
    },
    async replace({ id, sealed }: Pick<SealedRecord, 'id' | 'sealed'>, nextSealed: string) {
      const stored = records.get(id);
      if (stored !== undefined) this.beforeReplace(stored);
      const now = records.get(id);
      if (now?.sealed !== sealed) return false;
      records.set(id, { ...now, sealed: nextSealed });
      return true;
    },
  };
}

const run = (records: RewrapOptions['records'], change: Partial<RewrapOptions> = {}) =>
  rewrapAll({ records, vault, batch: 3, shouldContinue: () => true, ...change });

const none = { connection: 0, revocation: 0, registration: 0, credential: 0, result: 0, apiKey: 0 };

describe('takeCensus', () => {
  test('counts by key and kind, and lists unknown keys', async () => {
    const records = createRecords([
      ...(await many(current, 3)),
      ...(await many(old, 2)),
      await recordUnder(old, 'revocation'),
      await recordUnder(lost),
      { ...(await recordUnder(old)), id: 'bad', sealed: 'x' },
    ]);
    records.unreadable.push({ kind: 'revocation', id: 'worse' });
    expect(await takeCensus({ records, vault })).toEqual({
      keys: [
        { kid: 'current', role: 'current', counts: { ...none, connection: 3, revocation: 0 } },
        { kid: 'old', role: 'old', counts: { ...none, connection: 2, revocation: 1 } },
        { kid: 'older', role: 'old', counts: { ...none, connection: 0, revocation: 0 } },
        { kid: 'lost', role: 'unknown', counts: { ...none, connection: 1, revocation: 0 } },
      ],
      unreadable: [
        { kind: 'revocation', id: 'worse' },
        { kind: 'connection', id: 'bad' },
      ],
    });
  });
});

describe('rewrapAll', () => {
  test('re-wraps all values under the current key and reports it', async () => {
    const records = createRecords([...(await many(old, 7)), ...(await many(older, 4)), ...(await many(current, 2))]);
    expect(await run(records)).toMatchObject({ result: 'done', rewrapped: 11, superseded: 0 });
    const onlyCurrent = vaultOf(current);
    for (const record of records.records.values())
      expect(await onlyCurrent.open(record.sealed, sealContextOf(record))).toMatch(/^secret /);
  });

  test('rewrapAll does not change values that are under the current key', async () => {
    const before = await many(current, 5);
    const records = createRecords(before);
    expect(await run(records)).toMatchObject({ result: 'done', rewrapped: 0 });
    expect([...records.records.values()]).toEqual(before);
  });

  test('stops on request, keeps the re-wrapped values, and continues in the next run', async () => {
    const records = createRecords(await many(old, 10));
    expect(await run(records, { shouldContinue: ({ rewrapped }) => rewrapped < 4 })).toMatchObject({
      result: 'stopped',
    });
    const done = [...records.records.values()].filter(({ sealed }) => kidOf(sealed) === 'current').length;
    expect(done).toBeGreaterThanOrEqual(4);
    expect(done).toBeLessThan(10);
    expect(await run(records)).toMatchObject({ result: 'done', rewrapped: 10 - done });
  });

  test('rewrapAll does not overwrite a value that was replaced during the re-wrap', async () => {
    const records = createRecords(await many(old, 3));
    const renewed = await recordUnder(current);
    records.beforeReplace = ({ id }) => {
      if (id === [...records.records.keys()][0]) records.records.set(id, { ...renewed, id } as SealedRecord);
    };
    expect(await run(records)).toMatchObject({ result: 'done', rewrapped: 2, superseded: 1 });
    expect(records.records.values().next().value?.sealed).toBe(renewed.sealed);
  });

  test('finds a connection in the next walk that became a revocation during this one', async () => {
    const [leaving, ...others] = await many(old, 1);
    const records = createRecords([...(await many(current, 4)), ...others]);
    if (leaving === undefined) throw new Error('unreachable');
    // Exists from the second walk on.
    let walks = 0;
    records.beforeStep = at => {
      if (at === 2 && walks++ === 0)
        records.records.set('moved', { ...leaving, kind: 'revocation', id: 'moved' } as SealedRecord);
    };
    expect(await run(records)).toMatchObject({ result: 'done', rewrapped: 1 });
  });

  test('reports `unsettled` if another process still seals with an old key, instead of running forever', async () => {
    const records = createRecords(await many(old, 1));
    const more = await many(old, 20);
    records.beforeReplace = () => {
      const next = more.pop();
      if (next !== undefined) records.records.set(next.id, next);
    };
    expect(await run(records)).toMatchObject({ result: 'unsettled' });
  });

  test('counts values of lost keys and damaged values, and re-wraps the rest', async () => {
    const moved = await recordUnder(old);
    const records = createRecords([
      ...(await many(lost, 3)),
      { ...moved, provider: 'other' } as SealedRecord,
      { ...(await recordUnder(old)), id: 'bad', sealed: 'x' },
      ...(await many(old, 2)),
    ]);
    records.unreadable.push({ kind: 'revocation', id: 'worse' });
    const report = await run(records);
    expect(report).toMatchObject({ result: 'done', rewrapped: 2, unknown: new Map([['lost', 3]]) });
    expect(report.damaged.map(({ id }) => id).sort()).toEqual(['bad', moved.id, 'worse'].sort());
  });

  test('counts values of an old key that its service has lost, and re-wraps the rest', async () => {
    const wrap = async () => ({ result: 'wrapped', wrapped: new Uint8Array(40) }) as const;
    const gone = { kid: 'gone', service: { wrap, unwrap: async () => ({ result: 'unknown_key' }) as const } };
    const records = createRecords([...(await many(gone, 2)), ...(await many(old, 2))]);
    const report = await run(records, { vault: vaultOf(current, gone, old) });
    expect(report).toMatchObject({ result: 'done', rewrapped: 2, unknown: new Map([['gone', 2]]), damaged: [] });
  });

  test.each([
    ['does not respond', 'key_service_unavailable', () => Promise.reject(new Error('down'))],
    ['has lost the current key', 'key_service_unavailable', async () => ({ result: 'unknown_key' }) as const],
  ])('ends when the key service %s, and changes nothing', async (_, code, wrap) => {
    const before = await many(old, 3);
    const records = createRecords(before);
    const service = { wrap, unwrap: wrap };
    const failing = vaultOf({ kid: 'kms', service }, old);
    await expect(run(records, { vault: failing })).rejects.toMatchObject({ code });
    expect([...records.records.values()]).toEqual(before);
  });
});
