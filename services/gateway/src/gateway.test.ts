import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, expect, it, vi } from 'vitest';
import { startGateway } from './gateway.ts';
import type { GatewayConfigInput } from './platform/config/config-schema.ts';
import { parseConfig } from './platform/config/load-config.ts';
import { recordLog } from './testing/record-log.ts';
import { sampleFileConfig, sampleReceipts } from './testing/sample-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'postern-gateway-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Its vault key stays the same over reloads. */
const sample = sampleFileConfig(folder, { listen: { port: 0 }, stop: { drainSeconds: 0 } });
const configOf = (overrides: Partial<GatewayConfigInput> = {}) => parseConfig({ ...sample, ...overrides });
function started() {
  const { logger, lines } = recordLog();
  const hasLogged = (event: string) => lines().some(line => line['event'] === event);
  return { hasLogged, starting: startGateway(configOf(), { logger, sweepPauseMs: 1 }) };
}

it('keeps its outbound connections when a reload that changes them is refused', async () => {
  await using gateway = await started().starting;
  const before = gateway.deps.outboundPool.connectionsFor(configOf());
  const refused = await gateway.reload(() =>
    configOf({ outbound: { timeoutSeconds: 3 }, receipts: { keys: [...sampleReceipts.keys, ...sampleReceipts.keys] } }),
  );
  expect(refused).toMatchObject({ result: 'refused' });
  // Nothing of the refused configuration is left to keep.
  gateway.deps.outboundPool.keep();
  expect(gateway.deps.outboundPool.connectionsFor(configOf())).toBe(before);
});

it('is drained only when the configuration before the last reload has ended its work', async () => {
  const { hasLogged, starting } = started();
  await using gateway = await starting;
  const { stores } = gateway.deps;
  const reading = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<readonly []>();
  using _end = { [Symbol.dispose]: () => answer.resolve([]) };
  vi.spyOn(stores.elicitations, 'due').mockImplementationOnce(() => {
    reading.resolve();
    return answer.promise;
  });
  await reading.promise;
  expect(await gateway.reload(() => configOf({ branding: { name: 'Reloaded' } }))).toMatchObject({
    result: 'reloaded',
  });
  await stores.replicas.drain(gateway.replicaId, { evenLast: true });
  await expect.poll(() => hasLogged('replica.draining')).toBe(true);
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  expect(hasLogged('replica.drained')).toBe(false);
  answer.resolve([]);
  await expect.poll(() => hasLogged('replica.drained')).toBe(true);
});
