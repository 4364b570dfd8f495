import { createPublicKey, generateKeyPairSync, randomBytes, verify } from 'node:crypto';
import { inspect } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { ed25519Signer, hmacSigner, WebhookKeyError } from './webhook-signer.ts';

const content = { webhookId: 'ev_00a.3', timestamp: 1_767_225_600, body: '{"type":"elicitation.completed"}' };
const pair = generateKeyPairSync('ed25519');
const seed = pair.privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32);
const publicHalf = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
const keyOf = (...parts: Buffer[]) => `whsk_${Buffer.concat(parts).toString('base64')}`;
const secretOf = (bytes: number) => `whsec_${randomBytes(bytes).toString('base64')}`;

describe('v1', () => {
  it('hmacSigner reproduces the test vector of Standard Webhooks', () => {
    const signed = hmacSigner('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw').sign({
      webhookId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: 1_614_265_330,
      body: '{"test": 2432232314}',
    });
    expect(signed).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it.each([24, 32, 64])('hmacSigner signs like the reference library with %d bytes', bytes => {
    const secret = secretOf(bytes);
    const reference = new Webhook(secret).sign(content.webhookId, new Date(content.timestamp * 1000), content.body);
    expect(hmacSigner(secret).sign(content)).toBe(reference);
  });

  it.each([
    ['nothing', ''],
    ['no prefix', randomBytes(32).toString('base64')],
    ['another prefix', `whsk_${randomBytes(32).toString('base64')}`],
    ['23 bytes', secretOf(23)],
    ['65 bytes', secretOf(65)],
    ['text', 'whsec_correct horse battery staple'],
    ['base64 with an invalid character', `${secretOf(30).slice(0, -1)}!`],
    ['truncated base64', secretOf(32).slice(0, -1)],
    ['zeros', `whsec_${Buffer.alloc(32).toString('base64')}`],
  ])('hmacSigner refuses %s without quoting it', (_, secret) => {
    const thrown = thrownBy(() => hmacSigner(secret));
    expect(thrown).toBeInstanceOf(WebhookKeyError);
    if (secret.length > 12) expect(String(thrown)).not.toContain(secret.slice(6, 14));
  });
});

describe('v1a', () => {
  it.each([
    ['seed', keyOf(seed)],
    ['seed and public half', keyOf(seed, publicHalf)],
  ])('the public key verifies a signature made with a key given as %s', (_, signingKey) => {
    const [version, signature = ''] = ed25519Signer(signingKey).sign(content).split(',');
    expect(version).toBe('v1a');
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: publicHalf.toString('base64url') },
      format: 'jwk',
    });
    const verified = (text: string) => verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
    expect(verified(`${content.webhookId}.${content.timestamp}.${content.body}`)).toBe(true);
    expect(verified(`${content.webhookId}.${content.timestamp + 1}.${content.body}`)).toBe(false);
  });

  it.each([
    ['a secret', secretOf(32)],
    ['31 bytes', keyOf(seed.subarray(1))],
    ['halves of two keys', keyOf(seed, randomBytes(32))],
    ['a public key', `whpk_${publicHalf.toString('base64')}`],
  ])('ed25519Signer refuses %s', (_, signingKey) => {
    expect(thrownBy(() => ed25519Signer(signingKey))).toBeInstanceOf(WebhookKeyError);
  });
});

it('a printed or serialized signer shows no key', () => {
  const secret = secretOf(32);
  const signers = [hmacSigner(secret), ed25519Signer(keyOf(seed))];
  const shown = inspect(signers, { depth: 9, showHidden: true }) + JSON.stringify(signers);
  expect(shown).not.toContain(secret.slice(6));
  expect(shown).not.toContain(seed.toString('base64'));
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
