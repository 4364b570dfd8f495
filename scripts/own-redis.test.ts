import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { needsOwnRedis } from './own-redis.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-own-redis-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['publicUrl: http://localhost:8080', {}, true],
  ['redis: { prefix: postern }', {}, true],
  ['redis: { url: "redis://redis:6379" }', {}, false],
  ['redis: { url: "${env:SOME_URL}" }', {}, false],
  ['redis: { cluster: ["redis://a:6379"] }', {}, false],
  ['redis: { sentinel: { name: postern, nodes: ["redis://a:26379"] } }', {}, false],
  ['redis: { prefix: postern }', { REDIS_URL: 'redis://redis:6379' }, false],
  ['redis: { prefix: postern }', { REDIS_URL: '' }, true],
  ['{ not yaml', {}, false],
])('%s with %j: %j', (text, env, expected) => {
  const path = join(folder, 'postern.config.yaml');
  writeFileSync(path, text);
  expect(needsOwnRedis(path, env)).toBe(expected);
});

test('a missing configuration file needs no Redis', () => {
  expect(needsOwnRedis(join(folder, 'no-such-file.yaml'), {})).toBe(false);
});
