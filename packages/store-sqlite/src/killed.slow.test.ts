/** Writers that are killed while they commit, and a file whose end is missing: what was acknowledged is still there, and whole. */
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectionIdOf, type ElicitationId, SHARDS } from '@postern/elicitation';
import { allEvents, Ledger } from '@postern/testkit/contract';
import { endingWithParent } from '@postern/testkit/processes';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSqliteStores, type SqliteStores } from './sqlite-stores.ts';

const KILLS = 24;
const SEED = Number(process.env['POSTERN_SEED'] ?? 20_261_128);

/** Opens the file, and prints each acknowledgement before the next call, and `full` when the store has no space. */
const WRITER = `
  import { writeSync } from 'node:fs';
  import { StoreUnavailableError } from '@postern/elicitation';
  import { createSqliteStores } from '@postern/store-sqlite';
  import { Ledger } from '@postern/testkit/contract';
  const stores = createSqliteStores({ path: process.argv[1], now: Date.now });
  writeSync(1, 'opened\\n');
  let nth = 0;
  /** One verb of each kind that writes several records. */
  const operate = async () => {
    const name = process.pid + '_' + (nth += 1);
    const counts = ['refreshed', 'postponed'].map(outcome => ({ at: Date.now() - (Date.now() % 1e9), outcome, count: 1 }));
    await stores.audits.append('people', name);
    await stores.refreshCounts.add(String(process.pid), { provider: 'forge', day: 'all', operationId: name, counts });
    const about = { mcpServerId: 'tracker', name, lastFour: 'abcd', by: 'olga', reason: 'new', sealedDigest: name };
    await stores.apiKeys.add({ apiKeyId: 'ak_' + name, ...about });
    writeSync(1, 'operated ' + name + '\\n');
  };
  const acknowledging = verb => async request => {
    try {
      const result = await verb(request);
      const { elicitationId, version } = result.elicitation;
      writeSync(1, elicitationId + ' ' + version + '\\n');
      await operate();
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailableError) writeSync(1, 'full ' + error.cause.message + '\\n');
      throw error;
    }
  };
  const { elicitations } = stores;
  const ledger = new Ledger({
    create: acknowledging(request => elicitations.create(request)),
    transition: acknowledging(request => elicitations.transition(request)),
  });
  await ledger.write(Infinity);
`;

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-sqlite-'));
  path = join(folder, 'store.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Kills a writer after this many acknowledgements or at its first error, and returns its lines. */
async function killedAfter(lines: number, shell = ''): Promise<readonly string[]> {
  const program = [process.execPath, '--input-type=module', '--eval', WRITER, path];
  const [command, args] = endingWithParent('sh', ['-c', `${shell} exec "$@"`, 'sh', ...program]);
  const writer = spawn(command, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(writer, 'close');
  const seen: string[] = [];
  createInterface(writer.stdout).on('line', line => {
    seen.push(line);
    if (seen.length >= lines || line.startsWith('full')) writer.kill('SIGKILL');
  });
  await ended;
  return seen;
}

function noted(lines: readonly string[], into = new Map<ElicitationId, number>()): Map<ElicitationId, number> {
  for (const line of lines) {
    const [id, version] = line.split(' ');
    if (id?.startsWith('el_')) into.set(id as ElicitationId, Number(version));
  }
  return into;
}

/** All records of a commit, or none: the elicitation, its events in order, and the connection that completed it. */
async function expectWhole(stores: SqliteStores): Promise<number> {
  const versions = new Map<string, number>();
  for (const { elicitationId, eventId } of await allEvents(stores)) {
    const version = (versions.get(elicitationId) ?? 0) + 1;
    expect(eventId).toBe(`ev_${elicitationId.slice(3)}.${version}`);
    versions.set(elicitationId, version);
  }
  for (const [id, version] of versions) {
    const kept = await stores.elicitations.read(id as ElicitationId);
    expect(kept?.version).toBe(version);
    if (kept === undefined) continue;
    const connectionId = connectionIdOf({ owner: 'issue-tracker', subject: kept.subject, provider: 'github' });
    expect((await stores.connections.read(connectionId)) !== undefined).toBe(kept.status === 'completed');
  }
  const sizes = await Promise.all(
    SHARDS.flatMap(shard => [stores.lists.size('open', shard), stores.lists.size('ended', shard)]),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(versions.size);
  return versions.size;
}

/** An audit line with its place, the counts of a batch, and an API key with the version of the list. */
async function expectOperated(stores: SqliteStores, acknowledged: readonly string[]): Promise<void> {
  const names = acknowledged.flatMap(line => (line.startsWith('operated ') ? [line.slice('operated '.length)] : []));
  const lines = (await stores.audits.read({ limit: 10_000 })).map(({ line }) => line);
  expect(lines).toEqual(expect.arrayContaining(names));
  const { version, apiKeys } = (await stores.apiKeys.read()) ?? {};
  expect(apiKeys?.map(({ apiKeyId }) => apiKeyId.slice(3))).toEqual(expect.arrayContaining(names));
  expect(version).toBe(String(apiKeys?.length));
  const counts = (await stores.refreshCounts.read('forge', 'all')).map(
    ({ outcome, count }) => [outcome, count] as const,
  );
  const sumOf = (of: string) => counts.reduce((sum, [outcome, count]) => sum + (outcome === of ? count : 0), 0);
  expect(sumOf('refreshed')).toBe(sumOf('postponed'));
  expect(sumOf('refreshed')).toBeGreaterThanOrEqual(names.length);
  expect(sumOf('refreshed')).toBeLessThanOrEqual(lines.length);
}

/** A number below this limit, the same for a seed. */
const below = (limit: number, nth: number) => Number.parseInt(hash('sha256', `${SEED} ${nth}`).slice(0, 8), 16) % limit;

/** Opens the file when it reads a line, and holds it until its input ends. */
const OPENER = `
  import { once } from 'node:events';
  import { createSqliteStores } from '@postern/store-sqlite';
  console.log('ready');
  await once(process.stdin, 'data');
  try {
    createSqliteStores({ path: process.argv[1], now: Date.now });
    console.log('opened');
  } catch (error) {
    console.log(error.code);
  }
  for await (const _ of process.stdin);
`;

test.each([1, 2, 3])('of four processes that open a new file at once, one gets it (round %i)', async () => {
  const openers = Array.from({ length: 4 }, () => {
    const opener = spawn(...endingWithParent(process.execPath, ['--input-type=module', '--eval', OPENER, path]), {
      cwd: import.meta.dirname,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface(opener.stdout)[Symbol.asyncIterator]();
    const next = async () => (await lines.next()).value;
    return { opener, next };
  });
  expect(await Promise.all(openers.map(({ next }) => next()))).toEqual(openers.map(() => 'ready'));
  for (const { opener } of openers) opener.stdin.write('open');
  const answers = await Promise.all(openers.map(({ next }) => next()));
  await Promise.all(
    openers.map(({ opener }) => {
      opener.stdin.end();
      return once(opener, 'close');
    }),
  );
  expect(answers.sort()).toEqual(['file_in_use', 'file_in_use', 'file_in_use', 'opened']);
});

test(`keeps everything acknowledged over ${KILLS} kills of its writers, and nothing half (seed ${SEED})`, async () => {
  const acknowledged = new Map<ElicitationId, number>();
  const all: string[] = [];
  for (let nth = 0; nth < KILLS; nth += 1) {
    const lines = await killedAfter(2 + below(250, nth));
    all.push(...lines);
    expect(lines[0], `kill ${nth} of seed ${SEED}`).toBe('opened');
    noted(lines, acknowledged);
  }
  await using stores = createSqliteStores({ path, now: Date.now });
  const ledger = new Ledger(stores.elicitations, acknowledged);
  const found = await ledger.found();
  const whole = await expectWhole(stores);
  expect(found).toBe(ledger.written);
  expect(whole).toBeGreaterThanOrEqual(found);
  expect(whole).toBeLessThanOrEqual(found + KILLS * 8);
  await expectOperated(stores, all);
});

test(`a log that is torn at any byte loses its last commits only, each as a whole (seed ${SEED})`, async () => {
  const acknowledged = noted(await killedAfter(120));
  const [data, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
  const kept: number[] = [];
  for (let cut = 0; cut < log.length; cut += 1 + below(30_000, cut)) {
    writeFileSync(path, data);
    writeFileSync(`${path}-wal`, log.subarray(0, log.length - cut));
    await using stores = createSqliteStores({ path, now: Date.now });
    const found = await new Ledger(stores.elicitations, acknowledged).found();
    // The first cut is in the last commit.
    expect(acknowledged.size - found).toBeLessThanOrEqual(kept.length < 2 ? kept.length : Infinity);
    kept.push(await expectWhole(stores));
  }
  expect(kept).toEqual([...kept].sort((a, b) => b - a));
  expect(kept.at(-1)).toBeLessThan(kept[0] ?? 0);
});

test('a full disk is an error of the commit, and loses nothing acknowledged', async () => {
  const lines = await killedAfter(Infinity, 'ulimit -f 4000;');
  expect(lines.at(-1)).toMatch(/^full /);
  await using stores = createSqliteStores({ path, now: Date.now });
  const ledger = new Ledger(stores.elicitations, noted(lines));
  expect(ledger.written).toBeGreaterThan(20);
  expect(await ledger.found()).toBe(ledger.written);
  await expectWhole(stores);
  await expectOperated(stores, lines);
  await ledger.write(10);
});
