import { expect, test } from 'vitest';
import { exampleElicitation } from '../testing/example-elicitation.ts';
import { terms } from '../testing/scripts.ts';
import { approvedOf, confirmationSpec, paymentSpec } from './approvals.ts';

const approval = { method: 'button' as const, identity: 'login' as const, at: '2026-01-01T00:00:00Z' };
const answered = {
  action: 'accept' as const,
  elicitation: exampleElicitation({ kind: 'payment', status: 'completed' }),
  result: { elicitationId: 'el-1', redeemedAt: '2026-01-01T00:00:01Z', kind: 'payment' as const, receipt: 'a.b.c' },
};

test('the terms have the digest that the gateway signs', () => {
  // echo -n '{"kind":"payment","terms":{…}}' | openssl dgst -sha256 -binary | basenc --base64url
  expect(paymentSpec(terms, {}).digest).toBe('Yo6FvLuu6FICmbrAwmuKv1ypm3OKiIlg2TPQjKWk3jk');
  expect(paymentSpec({ ...terms, processor: 'stripe' }, {}).digest).toBe(paymentSpec(terms, {}).digest);
  expect(confirmationSpec('Send it', {}).digest).toBe('fOzKCKdiwYEjljVIIROaoNHqoJWLJYRDqx6pPf5MasA');
});

test('refuses an approval of other terms', () => {
  const { digest } = paymentSpec(terms, {});
  expect(approvedOf(answered, { digest, approval }, digest)).toMatchObject({ action: 'accept', receipt: 'a.b.c' });
  const more = paymentSpec({ ...terms, amount: { currency: 'EUR', minorUnits: 24_900 } }, {}).digest;
  expect(() => approvedOf(answered, { digest: more, approval }, digest)).toThrow(
    expect.objectContaining({ code: 'invalid_response' }),
  );
});

test('the idempotency key of an answer is unique, and differs from the id that opens the page', () => {
  const named = (elicitationId: string) =>
    approvedOf({ ...answered, elicitation: exampleElicitation({ elicitationId }) }, { digest: 'd', approval }, 'd')
      .idempotencyKey;
  expect(named('el-1')).toBe(named('el-1'));
  expect(named('el-1')).not.toBe(named('el-2'));
  expect(named('el-1')).not.toContain('el-1');
});
