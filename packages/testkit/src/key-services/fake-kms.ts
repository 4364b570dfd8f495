import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenHttp } from '../providers/http-listener.ts';
import { createRequestPlan, KEY_SERVICE_CANARY, type KeyServiceMood, respondInMood } from './fault.ts';

/**
 * `Encrypt` and `Decrypt` of AWS KMS for symmetric keys, over HTTP on a loopback address, for the official client. Written from the API
 * reference. It verifies the signature of every request (Signature Version 4).
 */
export async function startFakeKms(p: { readonly keys: readonly string[] }) {
  const keys = new Map(p.keys.map(arn => [arn, { secret: randomBytes(32), isEnabled: true }]));
  const credentials = { accessKeyId: 'AKIAPOSTERNEXAMPLE00', secretAccessKey: randomBytes(30).toString('base64') };
  let mood: KeyServiceMood = 'well';
  const denied = new Set<string>();
  const contexts = new Set<string>();
  const bodies: string[] = [];
  const plan = createRequestPlan();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    bodies.push(body);
    await plan.arrived();
    const send = (status: number, content: object) =>
      void response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(content));
    const refuse = (type: string, status = 400) => send(status, { __type: type, message: KEY_SERVICE_CANARY });
    if (mood === 'failing') return refuse('KMSInternalException', 500);
    if (mood === 'throttled') return refuse('ThrottlingException');
    if (respondInMood(mood, response)) return;
    if (!isSigned(request, body, credentials)) return refuse('InvalidSignatureException');
    const verb = /^TrentService\.(Encrypt|Decrypt)$/.exec(String(request.headers['x-amz-target']))?.[1];
    if (verb === undefined) return refuse('UnknownOperationException');
    if (denied.has(verb)) return refuse('AccessDeniedException');
    const {
      KeyId,
      EncryptionContext = {},
      Plaintext,
      CiphertextBlob,
    } = JSON.parse(body) as Record<string, string> & {
      EncryptionContext?: Record<string, string>;
    };
    const key = keys.get(KeyId ?? '');
    if (key === undefined) return refuse('NotFoundException');
    if (!key.isEnabled) return refuse('DisabledException');
    for (const value of Object.values(EncryptionContext)) contexts.add(value);
    const aad = Buffer.from(JSON.stringify(Object.entries(EncryptionContext).sort()));
    if (verb === 'Encrypt') {
      const plain = Buffer.from(Plaintext ?? '', 'base64');
      if (plain.length < 1 || plain.length > 4_096) return refuse('ValidationException');
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key.secret, nonce).setAAD(aad);
      const sealed = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return send(200, { KeyId, CiphertextBlob: sealed.toString('base64'), EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' });
    }
    const sealed = Buffer.from(CiphertextBlob ?? '', 'base64');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.secret, sealed.subarray(0, 12))
        .setAAD(aad)
        .setAuthTag(sealed.subarray(-16));
      const plain = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
      return send(200, { KeyId, Plaintext: plain.toString('base64'), EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' });
    } catch {
      return refuse('InvalidCiphertextException');
    }
  }

  const listener = await listenHttp((request, response) => void answer(request, response));
  return {
    url: `http://127.0.0.1:${listener.port}`,
    credentials,
    /** The values of all encryption contexts. */
    contexts,
    bodies,
    atRequest: plan.atRequest,
    setMood(next: KeyServiceMood) {
      mood = next;
    },
    deny: (verb: 'Encrypt' | 'Decrypt') => void denied.add(verb),
    allowAll: () => denied.clear(),
    setEnabled(arn: string, isEnabled: boolean) {
      const key = keys.get(arn);
      if (key !== undefined) key.isEnabled = isEnabled;
    },
    remove: (arn: string) => void keys.delete(arn),
    closeIdle: listener.closeIdle,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

const sha256 = (value: string) => createHash('sha256').update(value).digest('hex');
const hmac = (key: string | Buffer, value: string) => createHmac('sha256', key).update(value).digest();

/** Signature Version 4, for requests without a query. */
function isSigned(
  { method, url, headers }: IncomingMessage,
  body: string,
  credentials: { readonly accessKeyId: string; readonly secretAccessKey: string },
): boolean {
  const pattern = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, accessKeyId, scope = '', signedHeaders = '', signature] = pattern.exec(headers.authorization ?? '') ?? [];
  if (accessKeyId !== credentials.accessKeyId) return false;
  const canonicalHeaders = signedHeaders.split(';').map(name => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, url, '', canonicalHeaders.join(''), signedHeaders, sha256(body)].join('\n');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  return hmac(key, text).toString('hex') === signature;
}
