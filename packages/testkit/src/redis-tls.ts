import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** PEM text, and the path of its file. */
export interface PemFile {
  readonly pem: string;
  readonly file: string;
}

/** A certificate authority of one test and its certificates. `await using` deletes them. */
export interface RedisTls extends AsyncDisposable {
  readonly ca: PemFile;
  /** Certificate for `localhost` and the given addresses, for a Redis server and its clients. */
  readonly cert: PemFile;
  readonly key: PemFile;
  /** Signed by the same authority, for a wrong host name. */
  readonly misnamed: { readonly cert: PemFile; readonly key: PemFile };
}

export async function createRedisTls(addresses: readonly string[] = ['127.0.0.1']): Promise<RedisTls> {
  const dir = await mkdtemp(join(tmpdir(), 'postern-tls-'));
  const put = async (name: string, pem: string): Promise<PemFile> => {
    const file = join(dir, name);
    await writeFile(file, pem, { mode: 0o600 });
    return { pem, file };
  };
  const authority = await generate([{ name: 'commonName', value: 'Test authority' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const signed = async (commonName: string, names: readonly string[], ips: readonly string[]) => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: commonName }], {
      keyType: 'ec',
      algorithm: 'sha256',
      ca: { key: authority.private, cert: authority.cert },
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'keyUsage', digitalSignature: true, critical: true },
        { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
        {
          name: 'subjectAltName',
          altNames: [
            ...names.map(value => ({ type: 2 as const, value })),
            ...ips.map(ip => ({ type: 7 as const, ip })),
          ],
        },
      ],
    });
    return { cert: await put(`${commonName}.crt`, cert), key: await put(`${commonName}.key`, key) };
  };
  return {
    ca: await put('ca.crt', authority.cert),
    ...(await signed('redis', ['localhost'], addresses)),
    misnamed: await signed('elsewhere', ['elsewhere.example'], []),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}
