import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createGatewayProof } from './gateway-proof.ts';

const nonce = randomBytes(32).toString('base64url');
const ours = createGatewayProof(randomBytes(32));

test('S98: a proof counts only for its nonce and the vault keys of this deployment', () => {
  const proof = ours.of(nonce) ?? '';
  expect(ours.isOf(nonce, proof)).toBe(true);
  expect(ours.isOf(randomBytes(32).toString('base64url'), proof)).toBe(false);
  expect(createGatewayProof(randomBytes(32)).isOf(nonce, proof)).toBe(false);
  for (const wrong of ['', 'x', proof.slice(1), `${proof}AAAA`]) expect(ours.isOf(nonce, wrong)).toBe(false);
});

test.each(['', 'short', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}.`, `${'a'.repeat(42)}\n`, `${nonce} `])(
  'S98: there is no proof of %j',
  text => {
    expect(ours.of(text)).toBeUndefined();
  },
);
