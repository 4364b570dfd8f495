/**
 * Runs the applicable vectors of Project Wycheproof through the function that opens sealed values. The files are not part of
 * this repository: `pnpm --filter @postern/vault wycheproof <folder testvectors_v1 of C2SP/wycheproof>`. Exits with code 1
 * if a result differs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FlattenedJWE } from 'jose';
import { z } from 'zod';
import { decryptContent, type KeyAlgorithm } from '../vault.ts';
import { hex } from './hex.ts';

const result = z.enum(['valid', 'invalid', 'acceptable']);
const gcmFile = z.object({
  testGroups: z.array(
    z.object({
      keySize: z.number(),
      tests: z.array(
        z.object({
          tcId: z.number(),
          result,
          key: z.string(),
          iv: z.string(),
          aad: z.string(),
          msg: z.string(),
          ct: z.string(),
          tag: z.string(),
        }),
      ),
    }),
  ),
});
const jweFile = z.object({
  testGroups: z.array(
    z.object({
      private: z.looseObject({ kty: z.string(), k: z.string().optional() }),
      tests: z.array(
        z.object({ tcId: z.number(), result, comment: z.string(), jwe: z.string(), pt: z.string().optional() }),
      ),
    }),
  ),
});

interface Vector {
  readonly name: string;
  readonly jwe: FlattenedJWE;
  readonly key: Uint8Array;
  readonly algorithm: KeyAlgorithm;
  /** In hexadecimal; undefined if the value must not open. */
  readonly opensAs: string | undefined;
}

/** Selects 256-bit keys without additional data, which a JWE never chooses freely. IVs of other lengths must not open. */
function gcmVectors(folder: string): Vector[] {
  const { testGroups } = gcmFile.parse(JSON.parse(readFileSync(join(folder, 'aes_gcm_test.json'), 'utf8')));
  const base64url = (text: string) => hex(text).toString('base64url');
  return testGroups
    .filter(({ keySize }) => keySize === 256)
    .flatMap(({ tests }) => tests)
    .filter(({ aad }) => aad === '')
    .map(({ tcId, result, key, iv, msg, ct, tag }) => ({
      name: `aes_gcm_test ${tcId}`,
      jwe: {
        unprotected: { alg: 'dir', enc: 'A256GCM' },
        iv: base64url(iv),
        ciphertext: base64url(ct),
        tag: base64url(tag),
      },
      key: hex(key),
      algorithm: 'dir',
      opensAs: result === 'valid' && iv.length === 24 ? msg : undefined,
    }));
}

/** Selects symmetric keys. Vectors other than A256GCMKW with A256GCM must not open, even if they are valid. */
function jweVectors(folder: string): Vector[] {
  const { testGroups } = jweFile.parse(JSON.parse(readFileSync(join(folder, 'json_web_encryption_test.json'), 'utf8')));
  return testGroups.flatMap(({ private: { kty, k }, tests }) =>
    kty !== 'oct' || k === undefined
      ? []
      : tests.map(({ tcId, result, comment, jwe, pt }) => {
          const [header = '', encryptedKey = '', iv = '', ciphertext = '', tag = ''] = jwe.split('.');
          const text = Buffer.from(header, 'base64url').toString();
          const ours = text.includes('"A256GCMKW"') && text.includes('"A256GCM"');
          return {
            name: `json_web_encryption_test ${tcId} ${comment}`,
            jwe: { protected: header, encrypted_key: encryptedKey, iv, ciphertext, tag },
            key: Buffer.from(k, 'base64url'),
            algorithm: 'A256GCMKW',
            opensAs: result === 'valid' && ours ? (pt ?? '') : undefined,
          };
        }),
  );
}

/** Runs all vectors. `wrong` lists the results that differ from the files. */
export async function runWycheproof(folder: string) {
  let opened = 0;
  let refused = 0;
  const wrong: string[] = [];
  for (const { name, jwe, key, algorithm, opensAs } of [...gcmVectors(folder), ...jweVectors(folder)]) {
    const answer = await decryptContent(jwe, key, algorithm).then(
      plaintext => Buffer.from(plaintext).toString('hex'),
      () => undefined,
    );
    if (answer === undefined) refused += 1;
    else opened += 1;
    if (answer !== opensAs) wrong.push(`${name}: expected ${opensAs ?? 'a refusal'}, got ${answer ?? 'a refusal'}`);
  }
  return { opened, refused, wrong };
}

if (import.meta.main) {
  const { opened, refused, wrong } = await runWycheproof(process.argv[2] ?? '.');
  process.stdout.write([...wrong, `${opened} opened, ${refused} refused, ${wrong.length} otherwise\n`].join('\n'));
  process.exitCode = wrong.length > 0 || opened === 0 || refused === 0 ? 1 : 0;
}
