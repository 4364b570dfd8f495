import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createFoundation } from './foundation.ts';
import type { GatewayConfigInput } from './platform/config/config-schema.ts';
import { parseConfig } from './platform/config/load-config.ts';
import { createLogger } from './platform/logger.ts';
import { sampleFileConfig, sampleReceipts } from './testing/sample-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'postern-foundation-'));
afterAll(() => rmSync(folder, { recursive: true }));

const sample = sampleFileConfig(folder);
const configOf = (overrides: Partial<GatewayConfigInput> = {}) => parseConfig({ ...sample, ...overrides });
const open = (config = configOf()) =>
  createFoundation(
    config,
    { logger: createLogger({ level: 'silent' }) },
    { mcpServers: () => 1, onKeysWithdrawn: () => undefined },
  );

it('a start that cannot open the store closes what it has opened before', async () => {
  const adapter = join(folder, 'key-service.mjs');
  writeFileSync(
    adapter,
    `export const createKeyService = () => ({
      wrap: async contentKey => ({ result: 'wrapped', wrapped: contentKey }),
      unwrap: async wrapped => ({ result: 'unwrapped', contentKey: wrapped }),
    });`,
  );
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const started = open(
      configOf({
        store: { file: join(adapter, 'postern.sqlite') },
        receipts: sampleReceipts,
        vault: {
          keys: [{ kid: 'service', service: 'module', key: 'postern', module: adapter }],
          transactionKey: Buffer.from(Array.from({ length: 32 }, (_, at) => at)).toString('base64'),
        },
      }),
    );
    await expect(started).rejects.toThrow('store.file');
    // The key is probed in the background, and would be again after a pause.
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

describe('the outbound connections', () => {
  const changed = configOf({ outbound: { timeoutSeconds: 3 } });

  it('stay in force when a reload that changes them is refused, and those of the refused one are closed', async () => {
    await using foundation = await open();
    const { outboundPool } = foundation;
    const inForce = outboundPool.connectionsFor(configOf());
    outboundPool.keep();
    const refused = outboundPool.connectionsFor(changed);
    await refused.agentFor('forge.example');
    await outboundPool.discard();
    await expect(refused.agentFor('forge.example')).rejects.toMatchObject({ code: 'outbound_unreachable' });
    expect(outboundPool.connectionsFor(configOf())).toBe(inForce);
    expect(await inForce.agentFor('forge.example')).toBeDefined();
  });

  it('are replaced when a reload that changes them is in force, and close with the process', async () => {
    const foundation = await open();
    const { outboundPool } = foundation;
    const before = outboundPool.connectionsFor(configOf());
    outboundPool.keep();
    const inForce = outboundPool.connectionsFor(changed);
    outboundPool.keep();
    expect(inForce).not.toBe(before);
    expect(outboundPool.connectionsFor(changed)).toBe(inForce);
    for (const connections of [before, inForce]) expect(await connections.agentFor('forge.example')).toBeDefined();
    await foundation[Symbol.asyncDispose]();
    for (const connections of [before, inForce])
      await expect(connections.agentFor('forge.example')).rejects.toMatchObject({ code: 'outbound_unreachable' });
  });
});
