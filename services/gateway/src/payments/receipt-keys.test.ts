import { randomBytes } from 'node:crypto';
import { newReceiptKey } from '@postern/payment';
import { describe, expect, test } from 'vitest';
import type { VaultConfig } from '../platform/config/vault-config.ts';
import { StartError } from '../platform/start-error.ts';
import { receiptKeysOf } from './receipt-keys.ts';

const vaultKey = (kid: string) => ({ kid, key: new Uint8Array(randomBytes(32)) });
const [first, second] = [vaultKey('first'), vaultKey('second')];
const inService: VaultConfig['keys'][number] = { kid: 'kms', service: 'module', key: 'a', module: 'a.mjs' };
const vaultOf = (...keys: VaultConfig['keys']): VaultConfig => ({
  keys,
  keyServices: { cachedKeys: 1, cacheSeconds: 1, timeoutSeconds: 1 },
});

describe('keys derived from the vault', () => {
  test('are equal on every replica, and publish no part of the vault key', () => {
    const keys = receiptKeysOf({ vault: vaultOf(first), receipts: {} });
    expect(receiptKeysOf({ vault: vaultOf(first), receipts: {} }).published).toEqual(keys.published);
    expect(keys.published).toMatchObject([{ kid: 'first', crv: 'Ed25519', use: 'sig' }]);
    expect(JSON.stringify(keys.published)).not.toContain(Buffer.from(first.key).toString('base64url'));
    expect(keys.published[0]).not.toHaveProperty('d');
  });

  test('verify receipts of a retired vault key, which no longer signs', () => {
    const before = receiptKeysOf({ vault: vaultOf(first), receipts: {} });
    const after = receiptKeysOf({ vault: vaultOf(second, first), receipts: {} });
    expect(after.current.kid).toBe('second');
    expect(after.published).toContainEqual(before.published[0]);
  });

  test('come from the local keys, even if a key service holds the first', () => {
    const before = receiptKeysOf({ vault: vaultOf(first), receipts: {} });
    expect(receiptKeysOf({ vault: vaultOf(inService, first), receipts: {} }).published).toEqual(before.published);
  });
});

describe('configured keys', () => {
  test('replace the derived ones, with a key service too', async () => {
    const key = await newReceiptKey();
    const keys = receiptKeysOf({ vault: vaultOf(inService), receipts: { keys: [key] } });
    expect(keys.published).toMatchObject([{ kid: key.kid, x: key.key.x }]);
  });

  test('that do not form a pair are reported by name, without the key', async () => {
    const [one, other] = [await newReceiptKey(), await newReceiptKey()];
    const mixed = { kid: 'mixed', key: { ...one.key, x: other.key.x } };
    const start = () => receiptKeysOf({ vault: vaultOf(first), receipts: { keys: [mixed] } });
    expect(start).toThrow(StartError);
    expect(start).toThrow(/"mixed"/);
    expect(start).not.toThrow(one.key.d);
  });
});
