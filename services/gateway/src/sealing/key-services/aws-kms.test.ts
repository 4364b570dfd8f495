import { inspect } from 'node:util';
import { KEY_SERVICE_CANARY, startFakeKms } from '@postern/testkit/key-services';
import type { KeyEncryptionService } from '@postern/vault';
import { vaultKeyContract } from '@postern/vault/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { vaultOf } from '../../testing/vault-of.ts';
import { createAwsKms } from './aws-kms.ts';

const arn = (id: string) => `arn:aws:kms:eu-central-1:111122223333:key/${id}`;
const kms = await startFakeKms({ keys: [arn('kms-old'), arn('kms-new'), arn('lost')] });
const environment = {
  AWS_ENDPOINT_URL_KMS: kms.url,
  AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
  AWS_EC2_METADATA_DISABLED: 'true',
};
const services = new Map<string, KeyEncryptionService>();
beforeAll(async () => {
  Object.assign(process.env, environment);
  for (const kid of ['kms-old', 'kms-new']) services.set(kid, (await createAwsKms({ key: arn(kid) })).service);
});
afterAll(async () => {
  for (const name of Object.keys(environment)) delete process.env[name];
  await kms[Symbol.asyncDispose]();
});
afterEach(() => {
  kms.setMood('well');
  kms.allowAll();
  Object.assign(process.env, environment);
});

const serviceOf = (kid: string): KeyEncryptionService => {
  const service = services.get(kid);
  if (service === undefined) throw new Error('no service');
  return service;
};
describe('S120: a key of AWS KMS', () =>
  vaultKeyContract(kid => ({
    kid,
    service: {
      wrap: (...args) => serviceOf(kid).wrap(...args),
      unwrap: (...args) => serviceOf(kid).unwrap(...args),
    },
  })));

const context = { purpose: 'connection', mcpServer: 'tracker', subject: 'alice@people.example' };
const SECRET = 'canary-token-51c8';
const keyConfig = { kid: 'aws', service: 'aws-kms' as const, key: arn('kms-old') };

async function faultOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'VaultError', kid: 'aws' });
  const shown = inspect(error, { depth: 10 });
  for (const secret of [SECRET, KEY_SERVICE_CANARY, 'alice', kms.credentials.secretAccessKey])
    expect(shown).not.toContain(secret);
  return (error as { fault?: string; code: string }).fault ?? (error as { code: string }).code;
}

describe('S120: AWS KMS behind the official client', () => {
  it('receives a content key and a digest as encryption context, never a value or a name', async () => {
    await using opened = await vaultOf([keyConfig]);
    expect(await opened.vault.open(await opened.vault.seal(SECRET, context), context)).toBe(SECRET);
    expect([...kms.contexts].every(value => /^[A-Za-z0-9_-]{43}$/.test(value))).toBe(true);
    for (const body of kms.bodies) for (const name of [SECRET, 'alice', 'tracker']) expect(body).not.toContain(name);
  });

  it.each([
    ['failing', 'failed'],
    ['throttled', 'throttled'],
    ['empty', 'unusable_response'],
    ['html', 'unusable_response'],
    ['redirect', 'unusable_response'],
  ] as const)('%s: %s, on sealing and on opening, and then it works again', async (mood, fault) => {
    await using opened = await vaultOf([keyConfig]);
    const sealed = await opened.vault.seal(SECRET, context);
    kms.setMood(mood);
    expect([
      await faultOf(opened.vault.open(sealed, context)),
      await faultOf(opened.vault.seal(SECRET, context)),
    ]).toEqual([fault, fault]);
    kms.setMood('well');
    expect(await opened.vault.open(sealed, context)).toBe(SECRET);
  });

  it.each(['silent', 'trickle'] as const)('%s: timeout', async mood => {
    await using opened = await vaultOf([keyConfig], { keyServices: { timeoutSeconds: 0.3 } });
    kms.setMood(mood);
    expect(await faultOf(opened.vault.seal(SECRET, context))).toBe('timeout');
  });

  it('names wrong credentials, and a permission that is missing', async () => {
    await using opened = await vaultOf([keyConfig]);
    kms.deny('Decrypt');
    expect(await opened.probe('aws')).toMatchObject({ verb: 'decrypt', error: { fault: 'permission_denied' } });
    kms.deny('Encrypt');
    expect(await opened.probe('aws')).toMatchObject({ verb: 'encrypt', error: { fault: 'permission_denied' } });
    kms.allowAll();
    process.env['AWS_SECRET_ACCESS_KEY'] = 'wrong';
    await using wrong = await vaultOf([keyConfig]);
    expect(await faultOf(wrong.vault.seal(SECRET, context))).toBe('permission_denied');
  });

  it.each([1, 2, 16])('does not fail %i calls when the service closes idle connections meanwhile', async calls => {
    await using opened = await vaultOf([keyConfig]);
    const seal = (length: number) => Promise.all(Array.from({ length }, () => opened.vault.seal(SECRET, context)));
    await seal(16);
    kms.closeIdle();
    await expect(seal(calls)).resolves.toHaveLength(calls);
  });

  it('names a disabled and a deleted key, and an address where nothing listens', async () => {
    await using opened = await vaultOf([{ ...keyConfig, key: arn('lost') }]);
    const sealed = await opened.vault.seal(SECRET, context);
    kms.setEnabled(arn('lost'), false);
    expect(await faultOf(opened.vault.open(sealed, context))).toBe('key_unusable');
    kms.remove(arn('lost'));
    expect(await faultOf(opened.vault.open(sealed, context))).toBe('key_unusable');
    process.env['AWS_ENDPOINT_URL_KMS'] = 'http://127.0.0.1:1';
    await using nowhere = await vaultOf([keyConfig]);
    expect(await faultOf(nowhere.vault.seal(SECRET, context))).toBe('unreachable');
  });
});

it('a start without the optional client says what to install', async () => {
  const missing = createAwsKms({ key: arn('kms-old') }, () =>
    Promise.reject(
      Object.assign(new Error("Cannot find package '@aws-sdk/client-kms'"), { code: 'ERR_MODULE_NOT_FOUND' }),
    ),
  );
  await expect(missing).rejects.toMatchObject({
    name: 'StartError',
    message: expect.stringContaining('@aws-sdk/client-kms'),
  });
});
