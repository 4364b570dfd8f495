import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../support/child.ts';
import { profileSections, type StoredRow } from '../support/row.ts';
import { renderLimits, renderTable } from '../support/table.ts';
import { type Frame, partOf } from './parts.ts';
import { renderShares, sharesOf, timesIn } from './shares.ts';

const gateway = (path: string) => `file:///repo/services/gateway/src/${path}`;
const package_ = (name: string) => `file:///repo/node_modules/.pnpm/${name}@1/node_modules/${name}/index.js`;
const frame = (functionName: string, url = ''): Frame => ({ functionName, url });
/** The innermost function comes first. */
const stack = (...frames: Frame[]) => partOf(frames);

test.each([
  [[frame('issue', gateway('elicitations/issue-flow.ts'))], 'Postern: gateway/elicitations'],
  [[frame('main', gateway('main.ts'))], 'Postern: gateway/main'],
  [[frame('run', 'file:///repo/packages/store-redis/src/redis-link.ts')], 'Postern: packages/store-redis'],
  [[frame('a', 'file:///app/node_modules/@postern/mcp/packages/mcp/src/x.ts')], 'Postern: packages/mcp'],
  [[frame('parse', package_('zod'))], 'zod'],
  [[frame('limit', package_('@fastify/rate-limit'))], 'fastify'],
  [[frame('parse', package_('secure-json-parse'))], 'fastify'],
  [[frame('verify', package_('jose'))], 'jose'],
  [[frame('onto', package_('some-other'))], 'other packages'],
  [[frame('sha', 'node:internal/crypto/hash')], 'node: crypto'],
  [[frame('push', 'node:internal/streams/readable')], 'node: http, net, streams'],
  [[frame('JSON.stringify'), frame('encode', package_('zod'))], 'zod'],
  [
    [frame('writev'), frame('uncork', 'node:internal/streams/writable'), frame('send', package_('ioredis'))],
    'system calls: Redis',
  ],
  [[frame('writeString'), frame('write', package_('sonic-boom'))], 'system calls: log'],
  [[frame('writeUtf8String'), frame('end', 'node:_http_outgoing')], 'system calls: HTTP'],
  [[frame('(garbage collector)')], 'garbage collection'],
  [[frame('(program)')], 'engine, not attributed'],
  [[frame('(idle)')], undefined],
  [[frame('top', gateway('main.ts')), frame('run', 'node:internal/modules/esm/module_job')], 'loading modules'],
  [[], undefined],
] as const)('the time of %j belongs to: %s', (frames, part) => {
  expect(stack(...frames)).toBe(part);
});

const profile = JSON.stringify({
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 4, 5] },
    { id: 2, callFrame: frame('issue', gateway('elicitations/issue-flow.ts')), children: [3] },
    { id: 3, callFrame: frame('JSON.parse') },
    { id: 4, callFrame: frame('(idle)') },
    { id: 5, callFrame: frame('start', gateway('postern.ts')), children: [6] },
    { id: 6, callFrame: frame('parse', package_('zod')) },
  ],
  samples: [2, 3, 4, 6, 2],
  timeDeltas: [50, 10, 20, 1000, 10, 7],
});

test('the time until the next sample belongs to a sample, and native functions to their callers', () => {
  expect([...timesIn(profile)]).toEqual([
    ['Postern: gateway/elicitations', 10 + 20 + 7],
    ['zod', 10],
  ]);
});

test('shares leave out idle time and the loading of modules, and sum up small parts', () => {
  const times = new Map([
    ['zod', 6000],
    ['fastify', 3950],
    ['jose', 30],
    ['log', 20],
    ['loading modules', 9000],
  ] as const);
  expect(sharesOf([times])).toEqual([
    ['zod', 0.6],
    ['fastify', 0.395],
    ['the rest', 0.005],
  ]);
});

test('--shares shows one table for each program of a folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-shares-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(() => renderShares(folder)).toThrow('has no CPU profile');
  writeFileSync(join(folder, 'CPU.1.cpuprofile'), profile);
  writeFileSync(join(folder, 'CPU.2.cpuprofile'), profile);
  const lines = renderShares(folder).split('\n');
  expect(lines.filter(line => line.includes('| share'))).toHaveLength(1);
  expect(lines[0]).toMatch(/^\| gateway +\| share/);
  expect(lines[2]).toMatch(/^\| Postern: gateway\/elicitations +\| 78.7 % +\|$/);
});

const document = readFileSync(join(root, 'tools/bench/profiles.md'), 'utf8');
const sections = new Map(
  document
    .split(/^## /m)
    .slice(1)
    .map(text => [text.slice(0, text.indexOf('\n')), text] as const),
);

test('profiles.md has exactly the sections that rows with a target name', () => {
  expect([...sections.keys()]).toEqual(profileSections);
});

test.each(profileSections)('the section %s has a command, a table and a floor', name => {
  const text = sections.get(name) ?? '';
  expect(text).toMatch(/^(?:```sh\n(?:.+\n)+```)$/m);
  expect(text).toMatch(/^\|(?:-+\|)+$/m);
  expect(text).toMatch(/^\*\*Floor\.\*\* /m);
});

const row = (figure: string, ours: number, profile?: 'issue'): StoredRow => ({
  figure,
  unit: 'ms',
  ours: [ours],
  target: { bound: 'at most', value: 10, profile },
});

test('a row that is not met links to its section', () => {
  const rows = [row('a', 10, 'issue'), row('  b', 11, 'issue'), row('c', 12)];
  const cells = renderTable(rows, 'profiles.md')
    .split('\n')
    .slice(2)
    .map(line => line.split('|').at(-2)?.trim());
  expect(cells).toEqual(['yes', '[NO](profiles.md#issue)', 'NO']);
  expect(renderLimits(rows.slice(0, 2), 'tools/bench/profiles.md')).toBe('b: tools/bench/profiles.md#issue');
});
