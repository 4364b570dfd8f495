import type { StoredApiKey } from '@postern/elicitation';
import { createKeyRing, createVault, kidOf, VaultError } from '@postern/vault';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { apiKeyContext } from '../sealing/seal-contexts.ts';
import { startApiKeyWatch } from './api-key-list.ts';

const vault = createVault(createKeyRing([{ kid: 'k1', key: new Uint8Array(32).fill(7) }]));
const quiet = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const change = { by: 'olga', reason: 'test' };

/** A list in place of Redis, with a clock that only the test moves. */
function worldOf() {
  let version = 0;
  let isAway = false;
  const keys = new Map<string, StoredApiKey>();
  const onWithdrawn = vi.fn();
  const open = vi.fn(vault.open);
  const changed = () => {
    version += 1;
  };
  return {
    open,
    onWithdrawn,
    async add(
      apiKeyId: string,
      digest: string,
      context = apiKeyContext({ id: apiKeyId, mcpServerId: 'tracker' }),
      sealing = vault,
    ) {
      const sealedDigest = await sealing.seal(digest, context);
      keys.set(apiKeyId, { apiKeyId, mcpServerId: 'tracker', createdAt: 1, sealedDigest });
      changed();
    },
    revoke(apiKeyId: string, digest?: string) {
      const revoked = { at: 2, ...change };
      keys.set(apiKeyId, { apiKeyId, mcpServerId: 'tracker', createdAt: 1, revoked, ...(digest && { digest }) });
      changed();
    },
    setAway(away: boolean) {
      isAway = away;
    },
    start: () =>
      startApiKeyWatch({
        apiKeys: {
          async read(known) {
            if (isAway) throw new Error('away');
            return known === String(version) ? undefined : { version: String(version), apiKeys: [...keys.values()] };
          },
        },
        vault: { open },
        logger: quiet,
        onWithdrawn,
        monotonic: Date.now,
      }),
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const unavailable = expect.objectContaining({ code: 'api_keys_unavailable' });

describe('S130: the list of API keys', () => {
  it('S130: accepts an added key, and refuses a revoked one, within 500 ms', async () => {
    const world = worldOf();
    const list = await world.start();
    expect(list.find('d1')).toBeUndefined();
    await world.add('ak_1', 'd1');
    await vi.advanceTimersByTimeAsync(500);
    await expect.poll(() => list.find('d1')?.mcpServerId).toBe('tracker');
    world.revoke('ak_1');
    await vi.advanceTimersByTimeAsync(500);
    expect([list.find('d1'), list.isValid('d1')]).toEqual([undefined, false]);
    expect(['d1', 'd2'].map(list.idOfWithdrawn)).toEqual(['ak_1', undefined]);
    expect(world.onWithdrawn).toHaveBeenCalledTimes(1);
    await list.stop();
  });

  it('S131: refuses every key of the store once the list is older than a second, and recovers', async () => {
    const world = worldOf();
    await world.add('ak_1', 'd1');
    const list = await world.start();
    expect(list.find('d1')?.mcpServerId).toBe('tracker');
    world.setAway(true);
    await vi.advanceTimersByTimeAsync(1_001);
    expect(() => list.find('d1')).toThrow(unavailable);
    expect(() => list.find('unknown')).toThrow(unavailable);
    expect(list.isValid('d1')).toBe(false);
    expect(world.onWithdrawn).toHaveBeenCalled();
    world.setAway(false);
    await vi.advanceTimersByTimeAsync(500);
    expect(list.find('d1')?.mcpServerId).toBe('tracker');
    await list.stop();
  });

  it('S131: starts without a list, and refuses every key of the store until it has one', async () => {
    const world = worldOf();
    await world.add('ak_1', 'd1');
    world.setAway(true);
    const list = await world.start();
    expect(() => list.find('d1')).toThrow(unavailable);
    world.setAway(false);
    await vi.advanceTimersByTimeAsync(500);
    await expect.poll(() => list.find('d1')?.mcpServerId).toBe('tracker');
    await list.stop();
  });

  it('keeps the revocation of a key of the configuration while the list cannot be read', async () => {
    const world = worldOf();
    world.revoke('ak_file_1', 'd2');
    const list = await world.start();
    world.setAway(true);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([list.isRevoked('d2'), list.isRevoked('d3')]).toEqual([true, false]);
    await list.stop();
  });

  it('S132: ignores a key that was sealed for another id, another MCP server or under another key', async () => {
    const world = worldOf();
    await world.add('ak_1', 'd1', apiKeyContext({ id: 'ak_2', mcpServerId: 'tracker' }));
    await world.add('ak_3', 'd3', apiKeyContext({ id: 'ak_3', mcpServerId: 'other' }));
    const list = await world.start();
    expect([list.find('d1'), list.find('d3')]).toEqual([undefined, undefined]);
    expect(quiet.error).toHaveBeenCalledWith(
      expect.objectContaining({ event: 'api_keys.damaged', apiKeyId: 'ak_1', code: 'not_authentic' }),
      expect.anything(),
    );
    await list.stop();
  });

  it('S122: asks a key service that fails for one key per round, and opens a few keys at a time', async () => {
    const world = worldOf();
    for (let n = 0; n < 100; n += 1) await world.add(`ak_${n}`, `d${n}`);
    let underWay = 0;
    let most = 0;
    world.open.mockImplementation(() => Promise.reject(new VaultError('key_service_unavailable', 'refused')));
    const list = await world.start();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(world.open.mock.calls.length).toBeLessThan(20);
    world.open.mockImplementation(async (sealed, context) => {
      underWay += 1;
      most = Math.max(most, underWay);
      const digest = await vault.open(sealed, context);
      underWay -= 1;
      return digest;
    });
    await vi.advanceTimersByTimeAsync(500);
    await expect.poll(() => list.find('d99')?.mcpServerId).toBe('tracker');
    expect(most).toBe(8);
    await list.stop();
  });

  it('S122: opens keys under one vault key while the service of another does not respond', async () => {
    const world = worldOf();
    const other = createVault(createKeyRing([{ kid: 'k2', key: new Uint8Array(32).fill(8) }]));
    await world.add('ak_1', 'd1');
    await world.add('ak_2', 'd2', undefined, other);
    world.open.mockImplementation(async (sealed, context) => {
      if (kidOf(sealed) === 'k1') throw new VaultError('key_service_unavailable', 'away');
      return other.open(sealed, context);
    });
    const list = await world.start();
    expect(list.find('d2')?.mcpServerId).toBe('tracker');
    expect(() => list.find('d1')).toThrow(unavailable);
    await list.stop();
  });

  it('revokes at once while the key service does not respond, and opens the new key when it does', async () => {
    const world = worldOf();
    await world.add('ak_1', 'd1');
    const list = await world.start();
    world.open.mockImplementation(() => Promise.reject(new VaultError('key_service_unavailable', 'away')));
    await world.add('ak_2', 'd2');
    world.revoke('ak_1');
    await vi.advanceTimersByTimeAsync(500);
    expect(list.isValid('d1')).toBe(false);
    expect(() => list.find('d2')).toThrow(unavailable);
    world.open.mockImplementation(vault.open);
    await vi.advanceTimersByTimeAsync(500);
    await expect.poll(() => list.find('d2')?.mcpServerId).toBe('tracker');
    await list.stop();
  });

  it('S160: a key that a wrong response of the key service made invalid is tried again after five minutes', async () => {
    const world = worldOf();
    await world.add('ak_1', 'd1');
    world.open.mockImplementation(() => Promise.reject(new VaultError('not_authentic', 'wrong')));
    const list = await world.start();
    expect(list.find('d1')).toBeUndefined();
    world.open.mockImplementation(vault.open);
    await vi.advanceTimersByTimeAsync(299_000);
    expect(list.find('d1')).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2_000);
    await expect.poll(() => list.find('d1')?.mcpServerId).toBe('tracker');
    await list.stop();
  });

  it('opens each key once', async () => {
    const world = worldOf();
    await world.add('ak_1', 'd1');
    const list = await world.start();
    await world.add('ak_2', 'd2');
    await vi.advanceTimersByTimeAsync(500);
    await expect.poll(() => list.find('d2')?.mcpServerId).toBe('tracker');
    expect(world.open).toHaveBeenCalledTimes(2);
    await list.stop();
  });
});
