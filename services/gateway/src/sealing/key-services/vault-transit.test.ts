import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { createOutboundFetch } from '@postern/authorization';
import { anyAnswers, FLOOD_BYTES, floods, startAnsweringMachine } from '@postern/testkit/any-answer';
import { KEY_SERVICE_CANARY, startFakeTransit } from '@postern/testkit/key-services';
import { createKeyRing, createVault } from '@postern/vault';
import { vaultKeyContract } from '@postern/vault/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { vaultOf } from '../../testing/vault-of.ts';
import { createVaultTransit } from './vault-transit.ts';

const transit = await startFakeTransit({
  keys: ['postern', 'postern-next'],
  namespace: 'team/gate',
  mount: 'kms/transit',
});
const folder = mkdtempSync(join(tmpdir(), 'postern-transit-'));
const tokenFile = join(folder, 'token');
const outbound = createOutboundFetch({ allowLoopback: true, maxBytes: 64 * 1024 });
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await outbound.close();
  await transit[Symbol.asyncDispose]();
});
afterEach(() => {
  transit.setMood('well');
  transit.allowAll();
});

const place = { url: transit.url, mount: 'kms/transit', namespace: 'team/gate', token: transit.token };
const keyNames = { 'kms-old': 'postern', 'kms-new': 'postern-next' } as const;

describe('S120: a key of the Transit engine', () =>
  vaultKeyContract(kid => ({
    kid,
    service: createVaultTransit({ ...place, key: keyNames[kid], keyVersion: 1, fetch: outbound }),
  })));

const context = { purpose: 'connection', mcpServer: 'tracker', subject: 'alice@people.example' };
const SECRET = 'canary-token-51c8';
const keyConfig = { kid: 'bao', service: 'vault-transit' as const, key: 'postern', ...place };

/** A fault must say whose it is, and nothing of the value, the token or the response. */
async function faultOf(work: Promise<unknown>): Promise<string | undefined> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'VaultError', kid: 'bao' });
  const shown = inspect(error, { depth: 10 });
  for (const secret of [SECRET, place.token, KEY_SERVICE_CANARY, 'alice']) expect(shown).not.toContain(secret);
  return (error as { fault?: string; code: string }).fault ?? (error as { code: string }).code;
}

describe('S120: the service receives', () => {
  it('the content key and a digest of the context, never the value or the names in its context', async () => {
    await using opened = await vaultOf([keyConfig]);
    const sealed = await opened.vault.seal(SECRET, context);
    expect(await opened.vault.open(sealed, context)).toBe(SECRET);
    expect([...transit.contexts].every(value => /^[A-Za-z0-9_-]{43}$/.test(value))).toBe(true);
    for (const body of transit.bodies)
      for (const name of [SECRET, 'alice', 'tracker']) {
        expect(body).not.toContain(name);
        expect(Buffer.from(body, 'base64').toString()).not.toContain(name);
      }
  });
});

describe('S120: a fault of the Transit engine is named, and reveals nothing', () => {
  it.each([
    ['failing', 'failed'],
    ['throttled', 'throttled'],
    ['sealed', 'sealed'],
    ['html', 'unusable_response'],
    ['huge', 'unusable_response'],
    ['redirect', 'unusable_response'],
    ['empty', 'unusable_response'],
  ] as const)('%s: %s, on sealing and on opening, and then it works again', async (mood, fault) => {
    await using opened = await vaultOf([keyConfig]);
    const sealed = await opened.vault.seal(SECRET, context);
    transit.setMood(mood);
    expect(await faultOf(opened.vault.open(sealed, context))).toBe(fault);
    expect(await faultOf(opened.vault.seal(SECRET, context))).toBe(fault);
    expect([...opened.keyFaults]).toEqual([['bao', fault]]);
    transit.setMood('well');
    expect(await opened.vault.open(sealed, context)).toBe(SECRET);
    expect(opened.keyFaults.size).toBe(0);
  });

  it.each([1, 2, 16])('does not fail %i calls when the service closes idle connections meanwhile', async calls => {
    await using opened = await vaultOf([keyConfig]);
    const seal = (length: number) => Promise.all(Array.from({ length }, () => opened.vault.seal(SECRET, context)));
    await seal(16);
    transit.closeIdle();
    await expect(seal(calls)).resolves.toHaveLength(calls);
  });

  it.each(['silent', 'trickle'] as const)('%s: timeout', async mood => {
    await using opened = await vaultOf([keyConfig], { keyServices: { timeoutSeconds: 0.1 } });
    transit.setMood(mood);
    expect(await faultOf(opened.vault.seal(SECRET, context))).toBe('timeout');
  });

  it.each([
    [{ token: 'hvs.wrong' }, 'permission_denied'],
    [{ namespace: 'other' }, 'permission_denied'],
    [{ key: 'nowhere' }, 'permission_denied'],
    [{ mount: 'nowhere' }, 'key_unusable'],
    [{ keyVersion: 2 }, 'key_unusable'],
    [{ url: 'http://127.0.0.1:1' }, 'unreachable'],
    [{ url: 'https://vault.example:8200' }, 'unknown_host'],
    [{ url: 'https://10.0.0.1:8200' }, 'blocked'],
    [{ token: 'two lines\nX-Other: 1' }, 'no_credentials'],
  ])('%o: %s', async (change, fault) => {
    await using opened = await vaultOf([{ ...keyConfig, ...change }]);
    expect(await faultOf(opened.vault.seal(SECRET, context))).toBe(fault);
    expect(await opened.probe('bao')).toMatchObject({ verb: 'encrypt', error: { fault } });
  });

  it.each(['encrypt', 'decrypt'] as const)('a policy without %s is found by a probe', async verb => {
    await using opened = await vaultOf([keyConfig]);
    expect(await opened.probe('bao')).toBeUndefined();
    transit.deny(verb);
    expect(await opened.probe('bao')).toMatchObject({ verb, error: { fault: 'permission_denied' } });
  });

  it('a lost key is named on opening, and a version below the minimum is not lost', async () => {
    const lost = await startFakeTransit({ keys: ['a'] });
    await using _ = lost;
    await using opened = await vaultOf([
      { ...keyConfig, url: lost.url, mount: 'transit', namespace: undefined, key: 'a', token: lost.token },
    ]);
    const sealed = await opened.vault.seal(SECRET, context);
    lost.rotate('a');
    lost.setMinDecryptionVersion('a', 2);
    expect(await faultOf(opened.vault.open(sealed, context))).toBe('key_unusable');
    lost.setMinDecryptionVersion('a', 1);
    expect(await opened.vault.open(sealed, context)).toBe(SECRET);
    lost.remove('a');
    expect(await faultOf(opened.vault.open(sealed, context))).toBe('key_unusable');
  });
});

it('S120: any response ends in a named fault that reveals nothing, and a flood is cut', async () => {
  await using machine = await startAnsweringMachine();
  await using fetch = createOutboundFetch({ allowLoopback: true, maxBytes: 64 * 1024, timeoutMs: 2_000 });
  const url = `http://127.0.0.1:${machine.port}`;
  const service = createVaultTransit({ ...place, url, key: 'postern', keyVersion: 1, fetch });
  const vault = createVault(createKeyRing([{ kid: 'bao', service }]), { keyServiceTimeoutMs: 60_000 });
  for (const [name, damage] of Object.entries({ ...anyAnswers(KEY_SERVICE_CANARY), ...floods })) {
    using order = machine.answer(() => true, damage);
    const fault = await faultOf(vault.seal(SECRET, context));
    expect({ name, fault, isAsked: order.count > 0 }).toEqual({ name, fault: expect.any(String), isAsked: true });
    for (const sent of await order.floods())
      expect({ name, isCut: sent < FLOOD_BYTES / 2 }).toEqual({ name, isCut: true });
  }
});

describe('the token file', () => {
  beforeAll(() => writeFileSync(tokenFile, `${transit.token}\n`));

  it('is read again for every request', async () => {
    const { token: _, ...withoutToken } = keyConfig;
    await using opened = await vaultOf([{ ...withoutToken, tokenFile }]);
    const sealed = await opened.vault.seal(SECRET, context);
    const next = transit.replaceToken();
    expect(await faultOf(opened.vault.open(sealed, context))).toBe('permission_denied');
    writeFileSync(tokenFile, next);
    expect(await opened.vault.open(sealed, context)).toBe(SECRET);
    rmSync(tokenFile);
    expect(await faultOf(opened.vault.open(sealed, context))).toBe('no_credentials');
    writeFileSync(tokenFile, 'x'.repeat(10_000));
    expect(await faultOf(opened.vault.open(sealed, context))).toBe('no_credentials');
  });
});
