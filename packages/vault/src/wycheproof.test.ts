import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompactEncrypt, FlattenedEncrypt } from 'jose';
import { expect, test } from 'vitest';
import { runWycheproof } from './testing/wycheproof.ts';

/** The vectors are not in this repository. These generated vectors prove that the runner detects wrong results. */
test('the vector runner accepts correct results and lists wrong ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postern-vectors-'));
  const key = randomBytes(32);
  const plain = Buffer.from('plain');
  const gcm = await new FlattenedEncrypt(plain).setUnprotectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key);
  const hexOf = (part: string | undefined) => Buffer.from(part ?? '', 'base64url').toString('hex');
  const vector = {
    key: key.toString('hex'),
    iv: hexOf(gcm.iv),
    aad: '',
    msg: plain.toString('hex'),
    ct: hexOf(gcm.ciphertext),
  };
  const right = { ...vector, tcId: 1, result: 'valid', tag: hexOf(gcm.tag) };
  const altered = { ...right, tcId: 2, result: 'invalid', tag: '00'.repeat(16) };
  const wrongly = { ...right, tcId: 3, result: 'invalid' };
  const seal = (alg: string, enc: string) => new CompactEncrypt(plain).setProtectedHeader({ alg, enc }).encrypt(key);
  const jwe = { result: 'valid', comment: '', pt: vector.msg };
  const ours = { ...jwe, tcId: 4, jwe: await seal('A256GCMKW', 'A256GCM') };
  const foreign = { ...jwe, tcId: 5, jwe: await seal('A256KW', 'A256GCM') };
  const file = (name: string, group: object) => writeFile(join(folder, name), JSON.stringify({ testGroups: [group] }));
  await file('aes_gcm_test.json', { keySize: 256, tests: [right, altered, wrongly] });
  await file('json_web_encryption_test.json', {
    private: { kty: 'oct', k: key.toString('base64url') },
    tests: [ours, foreign],
  });
  const { opened, refused, wrong } = await runWycheproof(folder);
  await rm(folder, { recursive: true });
  expect({ opened, refused }).toEqual({ opened: 3, refused: 2 });
  expect(wrong).toEqual([expect.stringMatching(/^aes_gcm_test 3:/)]);
});
