import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startOwnRedis } from './own-redis.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-demo-path-'));
  vi.stubEnv('PATH', folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test('the demo has no Redis of its own if redis-server is not installed', async () => {
  await expect(startOwnRedis(folder)).resolves.toBeUndefined();
});

test('the demo has no Redis of its own if redis-server is older than 7, which the gateway refuses', async () => {
  writeFileSync(join(folder, 'redis-server'), '#!/bin/sh\necho "Redis server v=6.0.16 sha=00000000:0 bits=64"\n', {
    mode: 0o755,
  });
  await expect(startOwnRedis(folder)).resolves.toBeUndefined();
});
