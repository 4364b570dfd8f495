import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { CompactEncrypt, compactDecrypt } from 'jose';
import { z } from 'zod';
import type { KeyEncryptionService } from '../key-encryption-service.ts';

/** `silent` never responds; `failing` responds with 500; `confused` with an invalid content key; `wrong` with another one. */
export type KeyServiceMood = 'well' | 'silent' | 'failing' | 'confused' | 'wrong';

const requestSchema = z.object({ kid: z.string(), context: z.string(), value: z.base64url() });
const answerSchema = z.discriminatedUnion('result', [
  z.object({ result: z.literal('done'), value: z.base64url() }),
  z.object({ result: z.enum(['not_authentic', 'unknown_key']) }),
]);

/** Starts a key management service over HTTP on loopback, which never exports its keys. `await using` stops it. */
export async function startSoftwareKeyService(kids: readonly string[]) {
  const keys = new Map(kids.map(kid => [kid, randomBytes(32)]));
  let mood: KeyServiceMood = 'well';
  let calls = 0;
  const contexts = new Set<string>();

  async function wrapOrUnwrap(request: IncomingMessage): Promise<z.infer<typeof answerSchema>> {
    const { kid, context, value } = requestSchema.parse(JSON.parse(await text(request)));
    contexts.add(context);
    const key = keys.get(kid);
    if (key === undefined) return { result: 'unknown_key' };
    const bytes = new Uint8Array(Buffer.from(value, 'base64url'));
    if (request.url === '/wrap') {
      const wrapped = await new CompactEncrypt(bytes)
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', context })
        .encrypt(key);
      return { result: 'done', value: Buffer.from(wrapped).toString('base64url') };
    }
    try {
      const { plaintext, protectedHeader } = await compactDecrypt(bytes, key);
      if (protectedHeader['context'] !== context) return { result: 'not_authentic' };
      return { result: 'done', value: Buffer.from(plaintext).toString('base64url') };
    } catch {
      return { result: 'not_authentic' };
    }
  }

  const httpServer = createServer(async (request, response) => {
    calls += 1;
    if (mood === 'silent') return;
    if (mood === 'failing') return void response.writeHead(500).end('canary-of-the-key-service');
    if (mood === 'confused') return void response.end(JSON.stringify({ result: 'done', value: 'AA' }));
    if (mood === 'wrong')
      return void response.end(JSON.stringify({ result: 'done', value: randomBytes(32).toString('base64url') }));
    response.end(JSON.stringify(await wrapOrUnwrap(request)));
  }).listen(0, '127.0.0.1');
  await once(httpServer, 'listening');
  const url = `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`;

  async function ask(path: string, kid: string, value: Uint8Array, context: string, signal: AbortSignal) {
    const response = await fetch(url + path, {
      method: 'POST',
      body: JSON.stringify({ kid, context, value: Buffer.from(value).toString('base64url') }),
      signal,
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return answerSchema.parse(await response.json());
  }

  const service: KeyEncryptionService = {
    async wrap(kid, contentKey, context, { signal }) {
      const answer = await ask('/wrap', kid, contentKey, context, signal);
      if (answer.result === 'done') return { result: 'wrapped', wrapped: Buffer.from(answer.value, 'base64url') };
      if (answer.result === 'unknown_key') return { result: 'unknown_key' };
      throw new Error('invalid response to wrap');
    },
    async unwrap(kid, wrapped, context, { signal }) {
      const answer = await ask('/unwrap', kid, wrapped, context, signal);
      if (answer.result !== 'done') return { result: answer.result };
      return { result: 'unwrapped', contentKey: Buffer.from(answer.value, 'base64url') };
    },
  };

  return {
    service,
    contexts,
    get calls() {
      return calls;
    },
    setMood(next: KeyServiceMood) {
      mood = next;
    },
    forget(kid: string) {
      keys.delete(kid);
    },
    async [Symbol.asyncDispose]() {
      httpServer.closeAllConnections();
      httpServer.close();
      await once(httpServer, 'close');
    },
  };
}
