import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commandKeys, commandNames, fileOf, sharedFiles } from './commands.ts';

const folder = new URL('./commands/', import.meta.url);

test('every script is registered, and every registration has its script', () => {
  const files = readdirSync(folder).filter(file => !sharedFiles.includes(file));
  expect(files.sort()).toEqual(commandNames.map(fileOf).sort());
});

test('KEYSPACE.md lists every Redis command of the scripts', () => {
  const keyspace = readFileSync(new URL('../KEYSPACE.md', import.meta.url), 'utf8');
  const needed = keyspace.slice(keyspace.indexOf('## What the Redis user needs'));
  const sources = readdirSync(folder).map(file => readFileSync(new URL(file, folder), 'utf8'));
  const used = new Set(
    sources.flatMap(source => Array.from(source.matchAll(/redis\.call\('([A-Z]+)'/g), call => call[1])),
  );
  expect(used.size).toBeGreaterThan(0);
  for (const command of used) expect(needed).toContain(`\`${command}\``);
});

/** Facts that readers and Redis Cluster rely on. */
describe.each(commandNames)('%s', name => {
  const source = readFileSync(new URL(fileOf(name), folder), 'utf8');
  const [header = '', body = ''] = source.split(']]\n');

  test('documents its effect, keys, arguments, result and events', () => {
    expect(header).toMatch(/^--\[\[\n[A-Z]/);
    for (const section of ['KEYS', 'ARGV', 'returns', 'emits']) expect(header).toMatch(new RegExp(`^${section} `, 'm'));
  });

  test('S47: uses exactly the declared keys, and builds no key name', () => {
    const used = [...body.matchAll(/KEYS\[(\d+)\]/g)].map(match => Number(match[1]));
    expect(Math.max(...used)).toBe(commandKeys[name]);
    expect(new Set(used).size).toBe(commandKeys[name]);
    const calls = [...body.matchAll(/redis\.call\('([A-Z]+)', ([^,)]+)/g)];
    for (const [, command, first] of calls) {
      if (command !== 'PUBLISH') expect(first).toMatch(/^KEYS\[\d+\]$/);
    }
    expect(calls.length).toBe(body.split('redis.call').length - 1);
  });

  test('uses every documented argument', () => {
    const used = new Set([...body.matchAll(/ARGV\[(\d+)\]/g)].map(match => Number(match[1])));
    const named = header.slice(header.indexOf('ARGV'), header.indexOf('returns'));
    const declared = new Set([...named.matchAll(/(?:^ARGV +| {3,})(\d+) /gm)].map(match => Number(match[1])));
    expect([...declared].sort()).toEqual([...used].sort());
  });
});
