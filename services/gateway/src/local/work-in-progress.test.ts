import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../gateway.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { createLogger } from '../platform/logger.ts';
import { preparePersonal } from './prepare-personal.ts';
import { WorkInProgress } from './work-in-progress.ts';

test('S252: after the end, a gateway that still listens resets requests, so that their callers find the next one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-work-'));
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
  const config = loadConfig((await preparePersonal(folder)).config, {});
  let now = 0;
  const work = new WorkInProgress(() => now);
  const admit: WorkInProgress['admit'] = response => work.admit(response);
  await using gateway = await startGateway(config, { logger: createLogger({ level: 'silent' }), admit });
  now = 5;
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
  await expect.poll(() => work.isEmpty).toBe(true);
  expect([work.begun, work.lastAt]).toEqual([1, 5]);
  work.end();
  await expect(fetch(`${gateway.address}/readyz`)).rejects.toThrow(TypeError);
  expect(work.begun).toBe(1);
});
