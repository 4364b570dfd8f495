import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type CommandArgs, type CommandKeys, commandNames, commands, fileOf, scriptOf } from './commands.ts';
import { luaNameOf, type Script, valuesOf } from './script.ts';

const folder = new URL('./commands/', import.meta.url);
const files = readdirSync(folder);
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8');
const includes = new Set(['store-clock', ...commandNames.flatMap(name => (commands[name] as Script).includes ?? [])]);

test('every script is registered, and every registration has its script', () => {
  const shared = [...includes].map(file => `${file}.lua`);
  expect(files.sort()).toEqual([...commandNames.map(fileOf), ...shared].sort());
});

test('KEYSPACE.md lists every Redis command of the scripts', () => {
  const keyspace = readFileSync(new URL('../KEYSPACE.md', import.meta.url), 'utf8');
  const needed = keyspace.slice(keyspace.indexOf('## What the Redis user needs'));
  const used = new Set(
    files.flatMap(file => Array.from(read(file).matchAll(/redis\.call\('([A-Z]+)'/g), call => call[1])),
  );
  expect(used.size).toBeGreaterThan(0);
  for (const command of used) expect(needed).toContain(`\`${command}\``);
});

test.each(files)('%s knows no position of a key or an argument', file => {
  expect(read(file)).not.toMatch(/\b(?:KEYS|ARGV)\b/);
});

/** Facts that readers and Redis Cluster rely on. */
describe.each(commandNames)('%s', name => {
  const script: Script = commands[name];
  const [header = '', body = ''] = read(fileOf(name)).split(']]\n');
  const usedIn = (namespace: string) =>
    [...new Set(Array.from(body.matchAll(new RegExp(`\\b${namespace}\\.(\\w+)`, 'g')), match => match[1]))].sort();
  const luaNames = (names: readonly string[]) => names.map(luaNameOf).sort();

  test('documents its effect, result and events', () => {
    expect(header).toMatch(/^--\[\[\n[A-Z]/);
    for (const section of ['returns', 'emits']) expect(header).toMatch(new RegExp(`^${section} `, 'm'));
  });

  test('S47: uses exactly the declared keys, and builds no key name', () => {
    expect(usedIn('keys')).toEqual(luaNames('list' in script.keys ? [script.keys.list] : script.keys));
    const calls = [...body.matchAll(/redis\.call\('([A-Z]+)', ([^,)]+)/g)];
    for (const [, command, first] of calls) {
      if (command !== 'PUBLISH') expect(first).toMatch(/^keys\.\w+$/);
    }
    expect(calls.length).toBe(body.split('redis.call').length - 1);
    expect(body.match(/\bkeys\b(?!\.\w)/)).toBeNull();
  });

  test('uses exactly the declared arguments', () => {
    const args = Object.entries(script.args);
    expect(usedIn('args')).toEqual(luaNames(args.filter(([, arg]) => arg.kind !== 'clock').map(([key]) => key)));
    expect(body.match(/\bargs\b(?!\.\w)/)).toBeNull();
    expect(/\bnow\b/.test(body)).toBe(args.some(([, arg]) => arg.kind === 'clock'));
    for (const [, arg] of args) {
      if (arg.kind !== 'rows') continue;
      for (const column of luaNames(Object.keys(arg.columns))) expect(body).toMatch(new RegExp(`\\w\\.${column}\\b`));
    }
  });

  test('takes its clock first, and a list or rows last', () => {
    const kinds = Object.values(script.args).map(({ kind }) => kind);
    expect(kinds.lastIndexOf('clock')).toBeLessThanOrEqual(0);
    expect(kinds.slice(0, -1).filter(kind => kind === 'list' || kind === 'rows')).toEqual([]);
  });

  test('has the same text and digest in every process', () => {
    expect(scriptOf(name)).toEqual(scriptOf(name));
    expect(scriptOf(name).lua.endsWith(body)).toBe(true);
  });
});

describe('keys and arguments by name', () => {
  const keys = { job: 'j', unfinishedJobs: 'u' };
  const args = { jobId: 'id', about: '{}', person: undefined, max: 3 };

  test('an order of names in a call means nothing', () => {
    const reversed = { max: 3, person: undefined, about: '{}', jobId: 'id' };
    expect(valuesOf(commands.startJob, { unfinishedJobs: 'u', job: 'j' }, reversed, 17)).toEqual([
      'j',
      'u',
      '17',
      'id',
      '{}',
      '',
      '3',
    ]);
  });

  test('the prelude names what is sent', () => {
    const { lua } = scriptOf('startJob');
    expect(lua).toContain('local keys = { job = KEYS[1], unfinished_jobs = KEYS[2] }\n');
    expect(lua).toContain('local args = { job_id = ARGV[2], about = ARGV[3], person = ARGV[4], max = ARGV[5] }\n');
    expect(lua).toContain('local now = store_clock(ARGV[1])\n');
  });

  test('rows are sent and read in the order of their columns', () => {
    const counts = [
      { count: 2, field: 'a' },
      { field: 'b', count: 1 },
    ];
    const sent = valuesOf(
      commands.countRefreshes,
      { refreshes: 'r' },
      { writer: 'w', operationId: 'o', retentionMs: 9, counts },
      '',
    );
    expect(sent).toEqual(['r', 'w', 'o', '9', 'a', '2', 'b', '1']);
    expect(scriptOf('countRefreshes').lua).toContain(
      'for at = 4, #ARGV, 2 do table.insert(args.counts, { field = ARGV[at + 0], count = ARGV[at + 1] }) end\n',
    );
  });

  test('a list follows the other arguments', () => {
    expect(valuesOf(commands.noteKeys, { keyAges: 'k' }, { names: ['a', 'b'] }, '')).toEqual(['k', '', 'a', 'b']);
    expect(scriptOf('noteKeys').lua).toContain('for at = 2, #ARGV do args.names[at - 1] = ARGV[at] end\n');
  });

  test('a flag is 1 or 0', () => {
    const sent = (isMuted: boolean) =>
      valuesOf(commands.setMute, { mutedBy: 'm' }, { mcpServerId: 'tracker', isMuted }, '').at(-1);
    expect([sent(true), sent(false)]).toEqual(['1', '0']);
    const smuggled = { mcpServerId: 'tracker', isMuted: '1' };
    expect(() => valuesOf(commands.setMute, { mutedBy: 'm' }, smuggled, '')).toThrow(TypeError);
  });

  test.each([
    ['a missing key', { job: 'j' }, args],
    ['a missing argument', keys, { jobId: 'id', about: '{}' }],
    ['a fraction', keys, { ...args, max: 1.5 }],
    ['an object', keys, { ...args, about: {} }],
    ['a list', keys, { ...args, about: ['{}'] }],
    ['a flag for a text', keys, { ...args, about: true }],
  ])('refuses %s', (_, given, values) => {
    expect(() => valuesOf(commands.startJob, given, values, '')).toThrow(TypeError);
  });

  test('refuses another number of keys in a list', () => {
    expect(() => valuesOf(commands.readLedgers, { ledgers: ['one'] }, {}, '')).toThrow('16 keys');
  });

  test('a missing or unknown name does not compile', () => {
    // @ts-expect-error No key of unfinished jobs.
    const withoutKey: CommandKeys<'startJob'> = { job: 'j' };
    // @ts-expect-error No such key.
    const otherKey: CommandKeys<'startJob'> = { job: 'j', unfinishedJobs: 'u', endedJobs: 'e' };
    // @ts-expect-error An absent argument is named too.
    const withoutArg: CommandArgs<'startJob'> = { jobId: 'id', about: '{}', max: 3 };
    // @ts-expect-error No such argument.
    const otherArg: CommandArgs<'startJob'> = { jobId: 'id', about: '{}', person: undefined, max: 3, min: 1 };
    // @ts-expect-error Not one of the values.
    const otherValue: CommandArgs<'claimRevocation'> = { revocationId: 'rv', leaseMs: 1, which: 'all' };
    // @ts-expect-error No column of the number.
    const otherRow: CommandArgs<'countRefreshes'>['counts'] = [{ field: 'a' }];
    // @ts-expect-error The link sends the clock.
    const withClock: CommandArgs<'openElicitations'> = { now: 1 };
    expect([withoutKey, otherKey, withoutArg, otherArg, otherValue, otherRow, withClock]).toHaveLength(7);
  });
});
