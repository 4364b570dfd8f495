import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenHttp } from '../providers/http-listener.ts';
import { createRequestPlan, KEY_SERVICE_CANARY, type KeyServiceMood, respondInMood } from './fault.ts';

interface TransitKey {
  /** The first is version 1. */
  readonly versions: Buffer[];
  minDecryptionVersion: number;
}

export interface FakeTransitOptions {
  readonly keys: readonly string[];
  readonly namespace?: string;
  readonly mount?: string;
}

/**
 * The part of HashiCorp Vault and OpenBao that seals with the Transit engine, over HTTP on a loopback address. Written from the API
 * documentation and, for the errors, from builtin/logical/transit and sdk/helper/keysutil of OpenBao 2. Keys are `aes256-gcm96`. The policy
 * of the token allows `update` of `encrypt` and `decrypt` for each key, so it cannot create one.
 */
export async function startFakeTransit(options: FakeTransitOptions) {
  const { mount = 'transit' } = options;
  const keys = new Map<string, TransitKey>();
  for (const name of options.keys) keys.set(name, { versions: [randomBytes(32)], minDecryptionVersion: 1 });
  let token = `hvs.${randomBytes(18).toString('base64url')}`;
  let mood: KeyServiceMood | 'sealed' = 'well';
  const denied = new Set<'encrypt' | 'decrypt'>();
  const calls: { readonly verb: string; readonly key: string }[] = [];
  const bodies: string[] = [];
  const plan = createRequestPlan();
  const contexts = new Set<string>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, version, ...path] = (request.url ?? '').split('/');
    const [verb = '', key = ''] = path.slice(-2);
    calls.push({ verb, key });
    const body = await text(request);
    bodies.push(body);
    await plan.arrived();
    const send = (status: number, content: object) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
    const refuse = (status: number, ...errors: string[]) => send(status, { errors });

    if (mood === 'sealed') return refuse(503, 'Vault is sealed');
    if (mood === 'failing') return refuse(500, `internal error ${KEY_SERVICE_CANARY}`);
    if (mood === 'throttled') return refuse(429, `request path "${KEY_SERVICE_CANARY}": rate limit quota exceeded`);
    if (respondInMood(mood, response)) return;
    if (request.headers['x-vault-token'] === undefined) return refuse(403, 'permission denied');
    if (request.headers['x-vault-token'] !== token)
      return refuse(403, '2 errors occurred', 'permission denied', 'invalid token');
    if (request.headers['x-vault-namespace'] !== options.namespace) return refuse(403, 'permission denied');
    if (version !== 'v1' || path.slice(0, -2).join('/') !== mount)
      return refuse(404, `no handler for route "${path.join('/')}"`);
    if (verb !== 'encrypt' && verb !== 'decrypt') return refuse(404, 'unsupported path');
    if (request.method !== 'POST' && request.method !== 'PUT') return refuse(405, 'unsupported operation');
    if (denied.has(verb)) return refuse(403, '1 error occurred', 'permission denied');
    let members: Record<string, unknown>;
    try {
      members = JSON.parse(body) as Record<string, unknown>;
    } catch {
      return refuse(400, 'failed to parse JSON input');
    }
    const found = keys.get(key);
    // Encrypting with an unknown key would create it, which needs the capability "create".
    if (found === undefined)
      return verb === 'encrypt' ? refuse(403, 'permission denied') : refuse(400, 'encryption key not found');
    const associated = base64Of(members['associated_data'] ?? '');
    if (associated === undefined) return refuse(500, 'internal error: unable to decode associated_data');
    contexts.add(associated.toString());
    return verb === 'encrypt' ? encrypt(found, members, associated) : decrypt(found, members, associated);

    function encrypt(
      { versions }: TransitKey,
      { plaintext, key_version: asked = 0 }: Record<string, unknown>,
      aad: Buffer,
    ) {
      if (typeof plaintext !== 'string') return refuse(400, 'missing plaintext to encrypt');
      const plain = base64Of(plaintext);
      if (plain === undefined) return refuse(400, 'illegal base64 data at input byte 4');
      const used = asked === 0 ? versions.length : Number(asked);
      const secret = versions[used - 1];
      if (secret === undefined)
        return refuse(400, 'requested version for encryption is higher than the latest key version');
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(aad);
      const sealed = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return send(200, { data: { ciphertext: `vault:v${used}:${sealed.toString('base64')}`, key_version: used } });
    }

    function decrypt(
      { versions, minDecryptionVersion }: TransitKey,
      { ciphertext }: Record<string, unknown>,
      aad: Buffer,
    ) {
      if (typeof ciphertext !== 'string' || ciphertext === '') return refuse(400, 'missing ciphertext to decrypt');
      const [prefix, named = '', encoded = ''] = ciphertext.split(':', 3);
      if (prefix !== 'vault' || !named.startsWith('v')) return refuse(400, 'invalid ciphertext: no prefix');
      const used = Number(named.slice(1));
      if (!Number.isInteger(used)) return refuse(400, 'invalid ciphertext: version number could not be decoded');
      if (used > versions.length) return refuse(400, 'invalid ciphertext: version is too new');
      if (used < minDecryptionVersion)
        return refuse(400, 'ciphertext or signature version is disallowed by policy (too old)');
      const sealed = base64Of(encoded);
      if (sealed === undefined) return refuse(400, 'invalid ciphertext: could not decode base64');
      if (sealed.length < 12) return refuse(400, 'invalid ciphertext length');
      try {
        const decipher = createDecipheriv('aes-256-gcm', versions[used - 1] ?? '', sealed.subarray(0, 12))
          .setAAD(aad)
          .setAuthTag(sealed.subarray(-16));
        const plain = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
        return send(200, { data: { plaintext: plain.toString('base64') } });
      } catch {
        return refuse(400, 'cipher: message authentication failed');
      }
    }
  }

  const listener = await listenHttp((request, response) => void answer(request, response));
  return {
    url: `http://127.0.0.1:${listener.port}`,
    /** All requests, refused ones too. */
    calls,
    /** The bodies of all requests. */
    bodies,
    atRequest: plan.atRequest,
    /** The associated data of all requests that named a key. */
    contexts,
    /** Content keys must never be anywhere else: the token is the only credential. */
    get token() {
      return token;
    },
    /** Replaces the token, as an expired lease does. */
    replaceToken(): string {
      token = `hvs.${randomBytes(18).toString('base64url')}`;
      return token;
    },
    setMood(next: KeyServiceMood | 'sealed') {
      mood = next;
    },
    /** The policy of the token then lacks this path. */
    deny: (verb: 'encrypt' | 'decrypt') => void denied.add(verb),
    allowAll: () => denied.clear(),
    /** `vault write -f transit/keys/NAME/rotate` */
    rotate: (key: string) => void keys.get(key)?.versions.push(randomBytes(32)),
    setMinDecryptionVersion(key: string, version: number) {
      const found = keys.get(key);
      if (found !== undefined) found.minDecryptionVersion = version;
    },
    remove: (key: string) => void keys.delete(key),
    closeIdle: listener.closeIdle,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

/** Strict, as the decoder of Go: padding is required, and no other character is allowed. */
function base64Of(value: unknown): Buffer | undefined {
  if (typeof value !== 'string') return undefined;
  const bytes = Buffer.from(value, 'base64');
  return bytes.toString('base64') === value ? bytes : undefined;
}
