import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createKeyRing, createVault, type VaultKey } from './index.ts';
import { startSoftwareKeyService } from './testing/software-key-service.ts';
import { vaultKeyContract } from './testing/vault-key-contract.ts';

const context = { purpose: 'connection', owner: 'tracker', subject: 'alice@people.example' };
const SECRET = 'canary-token-51c8';

const keyService = await startSoftwareKeyService(['kms-old', 'kms-new', 'kms-lost']);
afterAll(() => keyService[Symbol.asyncDispose]());
afterEach(() => {
  keyService.setMood('well');
  vi.useRealTimers();
});

const local = new Map(['kms-old', 'kms-new', 'kms-lost'].map(kid => [kid, randomBytes(32)]));
const kinds: Record<string, (kid: string) => VaultKey> = {
  'a local key': kid => ({ kid, key: local.get(kid) ?? randomBytes(32) }),
  'a key of a key service': kid => ({ kid, service: keyService.service }),
};
const vaultOf = (...keys: VaultKey[]) => createVault(createKeyRing(keys));

describe.each(Object.entries(kinds))('%s', (_, key) => vaultKeyContract(key));

describe('migrating between local keys and a key service', () => {
  const [localKey, serviceKey] = [kinds['a local key'], kinds['a key of a key service']];
  if (localKey === undefined || serviceKey === undefined) throw new Error('unreachable');

  it.each([
    ['to the service', localKey, serviceKey],
    ['from the service', serviceKey, localKey],
  ])('%s', async (_, from, to) => {
    const before = await vaultOf(from('kms-old')).seal(SECRET, context);
    const after = await vaultOf(to('kms-new'), from('kms-old')).reseal(before, context);
    expect(await vaultOf(to('kms-new')).open(after ?? '', context)).toBe(SECRET);
  });

  it.each([
    ['sealed locally, opened by the service', localKey, serviceKey],
    ['sealed by the service, opened locally', serviceKey, localKey],
  ])('a key name cannot change its kind: %s', async (_, from, to) => {
    const sealed = await vaultOf(from('kms-old')).seal(SECRET, context);
    await expect(vaultOf(to('kms-old')).open(sealed, context)).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it('never uses a local key as a content key, whatever the header says', async () => {
    const key = localKey('kms-old');
    const forger = {
      wrap: async () => ({ result: 'wrapped' as const, wrapped: randomBytes(8) }),
      unwrap: async () => ({ result: 'not_authentic' as const }),
    };
    const forged = await vaultOf({ kid: 'kms-old', service: forger }).seal(SECRET, context);
    await expect(vaultOf(key).open(forged, context)).rejects.toMatchObject({ code: 'not_authentic' });
  });
});

describe('a faulty key service', () => {
  let sealed: string;
  const vault = vaultOf({ kid: 'kms-old', service: keyService.service });
  beforeAll(async () => {
    sealed = await vault.seal(SECRET, context);
  });

  it.each(['failing', 'confused'] as const)('%s: opening fails with key_service_unavailable', async mood => {
    keyService.setMood(mood);
    const error: unknown = await vault.open(sealed, context).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'key_service_unavailable' });
    expect(inspect(error, { depth: 10 })).not.toContain('canary');
    keyService.setMood('well');
    expect(await vault.open(sealed, context)).toBe(SECRET);
  });

  it('failing: sealing fails', async () => {
    keyService.setMood('failing');
    await expect(vault.seal(SECRET, context)).rejects.toMatchObject({ code: 'key_service_unavailable' });
  });

  it.each(['seal', 'open'] as const)(
    'silent: %s is given up after its time, and the request is aborted',
    async verb => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      let aborted = false;
      const never = (signal: AbortSignal) => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        return new Promise<never>(() => {});
      };
      const deaf = createVault(
        createKeyRing([
          {
            kid: 'kms-old',
            service: {
              wrap: (_k, _c, _x, { signal }) => never(signal),
              unwrap: (_k, _w, _x, { signal }) => never(signal),
            },
          },
        ]),
        { keyServiceTimeoutMs: 500 },
      );
      const call = verb === 'seal' ? deaf.seal(SECRET, context) : deaf.open(sealed, context);
      const outcome = expect(call).rejects.toMatchObject({ code: 'key_service_unavailable' });
      await vi.advanceTimersByTimeAsync(499);
      expect(aborted).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      await outcome;
      expect(aborted).toBe(true);
    },
  );

  it('silent over real HTTP: the timeout closes the connection', async () => {
    keyService.setMood('silent');
    const hasty = createVault(createKeyRing([{ kid: 'kms-old', service: keyService.service }]), {
      keyServiceTimeoutMs: 1,
    });
    await expect(hasty.open(sealed, context)).rejects.toMatchObject({ code: 'key_service_unavailable' });
  });

  it('names a key that the service has lost, on opening and on sealing', async () => {
    const other = vaultOf({ kid: 'kms-lost', service: keyService.service });
    const before = await other.seal(SECRET, context);
    keyService.forget('kms-lost');
    for (const call of [() => other.open(before, context), () => other.seal(SECRET, context)]) {
      await expect(call()).rejects.toMatchObject({
        code: 'key_service_unavailable',
        fault: 'key_unusable',
        message: expect.stringContaining('"kms-lost"') as string,
      });
    }
  });

  it('rejects an altered wrapped key as not authentic', async () => {
    const parts = sealed.split('.');
    const wrapped = parts[1] ?? '';
    const altered = parts.with(1, `${wrapped.slice(0, -4)}${wrapped.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`).join('.');
    await expect(vault.open(altered, context)).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it('receives a digest of the context, without names', async () => {
    await vault.open(sealed, context);
    expect(keyService.contexts.size).toBeGreaterThan(0);
    expect([...keyService.contexts].every(value => /^[A-Za-z0-9_-]{43}$/.test(value))).toBe(true);
  });

  it('receives no request about malformed values', async () => {
    const before = keyService.calls;
    await expect(vault.open('a.b.c.d.e', context)).rejects.toMatchObject({ code: 'not_authentic' });
    const foreign = await vaultOf({ kid: 'local', key: randomBytes(32) }).seal(SECRET, context);
    await expect(vault.open(foreign, context)).rejects.toMatchObject({ code: 'unknown_key' });
    expect(keyService.calls).toBe(before);
  });
});
