import { readFile } from 'node:fs/promises';
import { OutboundError, type OutboundFetch } from '@postern/authorization';
import { type KeyEncryptionService, KeyServiceError, type KeyServiceFault } from '@postern/vault';
import { z } from 'zod';
import { connectionFault } from './connection-fault.ts';

export interface VaultTransitOptions {
  /** Base URL of HashiCorp Vault or OpenBao. */
  readonly url: string;
  /** Path of the Transit engine. */
  readonly mount: string;
  /** Name of the key there. */
  readonly key: string;
  /** Version of the key that encrypts. The only one that decrypts, so a version is a key of its own. */
  readonly keyVersion: number;
  readonly namespace?: string;
  readonly token?: string;
  /** File with the token, instead of `token`. Read for every request, because agents replace it before it expires. */
  readonly tokenFile?: string;
  readonly fetch: OutboundFetch;
}

// Source: the API documentation of the Transit secrets engine, and sdk/helper/keysutil/policy.go of OpenBao 2 for the errors.
const encrypted = z.object({ data: z.object({ ciphertext: z.string().max(8_000) }) });
const decrypted = z.object({ data: z.object({ plaintext: z.base64() }) });
const refused = z.object({ errors: z.array(z.string()) });

/**
 * A key of the Transit secrets engine of HashiCorp Vault or OpenBao. The context of the value is the associated data, so the service
 * refuses a wrapped key that belongs to another record.
 */
export function createVaultTransit(p: VaultTransitOptions): KeyEncryptionService {
  const prefix = `vault:v${p.keyVersion}:`;

  async function ask(verb: 'encrypt' | 'decrypt', body: object, signal: AbortSignal): Promise<Response> {
    const token = await tokenOf(p);
    const path = [...p.mount.split('/'), verb, p.key].map(encodeURIComponent).join('/');
    try {
      return await p.fetch(`${p.url.replace(/\/$/, '')}/v1/${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-vault-token': token,
          'x-vault-request': 'true',
          ...(p.namespace === undefined ? undefined : { 'x-vault-namespace': p.namespace }),
        },
        body: JSON.stringify(body),
        signal,
      });
    } catch (error) {
      if (error instanceof OutboundError) throw new KeyServiceError(connectionFault(error));
      throw error;
    }
  }

  return {
    async wrap(_kid, contentKey, context, { signal }) {
      const body = {
        plaintext: Buffer.from(contentKey).toString('base64'),
        associated_data: Buffer.from(context).toString('base64'),
        key_version: p.keyVersion,
      };
      const response = await ask('encrypt', body, signal);
      if (response.status !== 200) {
        const reason = await reasonOf(response);
        if (reason === 'unknown_key') return { result: 'unknown_key' };
        throw new KeyServiceError(reason === 'not_authentic' ? 'failed' : reason);
      }
      const { ciphertext } = parsed(encrypted, await jsonOf(response)).data;
      // Another version would be under a name that does not say so.
      if (!ciphertext.startsWith(prefix)) throw new KeyServiceError('unusable_response');
      return { result: 'wrapped', wrapped: Buffer.from(ciphertext) };
    },
    async unwrap(_kid, wrapped, context, { signal }) {
      const ciphertext = Buffer.from(wrapped).toString('latin1');
      if (!ciphertext.startsWith(prefix)) return { result: 'not_authentic' };
      const body = { ciphertext, associated_data: Buffer.from(context).toString('base64') };
      const response = await ask('decrypt', body, signal);
      if (response.status !== 200) {
        const reason = await reasonOf(response);
        if (reason === 'unknown_key' || reason === 'not_authentic') return { result: reason };
        throw new KeyServiceError(reason);
      }
      const { plaintext } = parsed(decrypted, await jsonOf(response)).data;
      return { result: 'unwrapped', contentKey: Buffer.from(plaintext, 'base64') };
    },
  };
}

const MAX_TOKEN_CHARACTERS = 8_192;

/** @throws KeyServiceError `no_credentials` */
async function tokenOf({ token, tokenFile }: VaultTransitOptions): Promise<string> {
  let text = token ?? '';
  if (tokenFile !== undefined) {
    try {
      text = (await readFile(tokenFile, 'utf8')).trim();
    } catch {
      throw new KeyServiceError('no_credentials');
    }
  }
  // Anything else is no token, and could not be a header.
  if (text.length > MAX_TOKEN_CHARACTERS || !/^[\x21-\x7e]+$/.test(text)) throw new KeyServiceError('no_credentials');
  return text;
}

/** Errors of status 400 by the text that the service sends. A version can be allowed again, so its values are not lost. */
const byMessage: readonly (readonly [RegExp, KeyServiceFault | 'unknown_key' | 'not_authentic'])[] = [
  [/encryption key not found/, 'unknown_key'],
  [/version is too new|too old|requested version|no such key version/, 'key_unusable'],
  [/message authentication failed|invalid ciphertext/, 'not_authentic'],
  [/missing client token/, 'permission_denied'],
];

/** Why the service refuses a request. Nothing of its response is kept. */
async function reasonOf(response: Response): Promise<KeyServiceFault | 'unknown_key' | 'not_authentic'> {
  const { status } = response;
  if (status === 401 || status === 403) return 'permission_denied';
  if (status === 404) return 'key_unusable';
  if (status === 429) return 'throttled';
  // 472 and 473 are standby nodes that do not serve the request.
  if (status === 503 || status === 472 || status === 473) return 'sealed';
  if (status !== 400) return status >= 500 ? 'failed' : 'unusable_response';
  const errors = parsed(refused, await jsonOf(response)).errors.join('\n');
  return byMessage.find(([pattern]) => pattern.test(errors))?.[1] ?? 'key_unusable';
}

/** @throws KeyServiceError `unusable_response` */
async function jsonOf(response: Response): Promise<unknown> {
  try {
    return JSON.parse(await response.text()) as unknown;
  } catch {
    throw new KeyServiceError('unusable_response');
  }
}

/** @throws KeyServiceError `unusable_response` */
function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data } = schema.safeParse(value);
  if (data === undefined) throw new KeyServiceError('unusable_response');
  return data;
}
