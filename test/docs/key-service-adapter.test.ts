import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import type { KeyEncryptionService } from '@postern/vault';
import { vaultKeyContract } from '@postern/vault/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { blocksIn } from './support/doc-blocks.ts';

const NAME = 'projects/example/locations/europe/keyRings/postern/cryptoKeys';
const bodySchema = z.object({
  plaintext: z.base64().optional(),
  ciphertext: z.base64().optional(),
  additionalAuthenticatedData: z.base64(),
});
const adapterSchema = z.object({
  createKeyService: z.custom<(options: { key: string }) => KeyEncryptionService>(value => typeof value === 'function'),
});

const keys = new Map(['kms-old', 'kms-new'].map(name => [`${NAME}/${name}`, randomBytes(32)]));
let status: number | undefined;
/** The metadata server and the `encrypt` and `decrypt` of Google Cloud KMS, after their REST reference. */
const httpServer = createServer(async (request, response) => {
  const send = (code: number, content: unknown) => response.writeHead(code).end(JSON.stringify(content));
  if (request.url === '/computeMetadata/v1/instance/service-accounts/default/token')
    return request.headers['metadata-flavor'] === 'Google' ? send(200, { access_token: 'ya29.a' }) : send(403, {});
  const [, name = '', verb] = /^\/v1\/(.+):(encrypt|decrypt)$/.exec(request.url ?? '') ?? [];
  if (status !== undefined) return response.writeHead(status).end('{}');
  if (request.headers.authorization !== 'Bearer ya29.a') return send(401, {});
  const key = keys.get(name);
  if (key === undefined) return send(404, { error: { code: 404, status: 'NOT_FOUND' } });
  const body = bodySchema.parse(await json(request));
  const aad = Buffer.from(body.additionalAuthenticatedData, 'base64');
  if (verb === 'encrypt') {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(aad);
    const text = Buffer.concat([
      nonce,
      cipher.update(body.plaintext ?? '', 'base64'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return send(200, { name: `${name}/cryptoKeyVersions/1`, ciphertext: text.toString('base64') });
  }
  const sealed = Buffer.from(body.ciphertext ?? '', 'base64');
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
      .setAAD(aad)
      .setAuthTag(sealed.subarray(-16));
    return send(200, {
      plaintext: Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString('base64'),
    });
  } catch {
    return send(400, { error: { code: 400, status: 'INVALID_ARGUMENT' } });
  }
});
const folder = mkdtempSync(join(tmpdir(), 'postern-adapter-'));
let adapter: z.infer<typeof adapterSchema>;
beforeAll(async () => {
  await new Promise<void>(resolve => httpServer.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`;
  Object.assign(process.env, { CLOUD_KMS_URL: url, METADATA_URL: url });
  const path = join(folder, 'google-cloud-kms.mjs');
  writeFileSync(path, blocksIn('mjs').find(({ body }) => body.startsWith('// google-cloud-kms.mjs:'))?.body ?? '');
  adapter = adapterSchema.parse(await import(pathToFileURL(path).href));
});
afterAll(() => {
  delete process.env['CLOUD_KMS_URL'];
  delete process.env['METADATA_URL'];
  httpServer.closeAllConnections();
  httpServer.close();
  rmSync(folder, { recursive: true });
});

const lazily = (kid: string): KeyEncryptionService => ({
  wrap: (...args) => adapter.createKeyService({ key: `${NAME}/${kid}` }).wrap(...args),
  unwrap: (...args) => adapter.createKeyService({ key: `${NAME}/${kid}` }).unwrap(...args),
});

describe('the adapter in docs/key-services.md', () => {
  vaultKeyContract(kid => ({ kid, service: lazily(kid) }));

  const call = (kid: string) => lazily(kid).wrap(kid, new Uint8Array(32), 'c', { signal: AbortSignal.timeout(60_000) });

  it('reports a missing key', async () => {
    expect(await call('gone')).toEqual({ result: 'unknown_key' });
  });

  it.each([
    [403, 'permission_denied'],
    [429, 'throttled'],
    [412, 'key_unusable'],
    [503, 'failed'],
  ])('names the fault of status %i: %s', async (code, fault) => {
    status = code;
    await expect(call('kms-old')).rejects.toMatchObject({ fault });
    status = undefined;
  });

  it('has about sixty lines', () => {
    const lines =
      blocksIn('mjs')
        .find(({ body }) => body.startsWith('// google-cloud-kms.mjs:'))
        ?.body.split('\n') ?? [];
    expect(lines.length).toBeLessThan(75);
  });
});
