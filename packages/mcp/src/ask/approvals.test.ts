import { expect, test } from 'vitest';
import { argumentsDigest, termsDigest } from '../receipt/claims.ts';
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

test('arguments are bound by their digest, and the run keeps nothing else of them', () => {
  const call = { title: 'Send it', arguments: '{ "b": 1.0, "a": "canary" }' };
  const { digest, spec } = confirmationSpec(call, {});
  const signed = { title: 'Send it', facts: [], danger: 'normal' as const };
  expect(argumentsDigest('{"a":"canary","b":1.0}')).toBe('HXfdQw1Z165nXPFF8gigs24EQ1ZWnhEu0_F2WO-8tOY');
  expect(digest).toBe(
    termsDigest({
      kind: 'confirmation',
      terms: { ...signed, argumentsDigest: 'HXfdQw1Z165nXPFF8gigs24EQ1ZWnhEu0_F2WO-8tOY' },
    }),
  );
  expect(confirmationSpec({ ...call, arguments: '{"a":"canary","b":1.0}' }, {}).digest).toBe(digest);
  expect(confirmationSpec({ ...call, arguments: '{"b":1,"a":"canary"}' }, {}).digest).not.toBe(digest);
  expect(spec.body).toMatchObject({ confirmation: { arguments: '{"b":1.0,"a":"canary"}' } });
  expect(JSON.stringify([spec.terms, spec.about])).not.toContain('canary');
});

test.each(['[]', '{"a":1,"a":2}', '{'])('refuses the arguments %s before anything is sent', text => {
  expect(() => confirmationSpec({ title: 'Send it', arguments: text }, {})).toThrow(
    expect.objectContaining({ code: 'invalid_ask', message: expect.stringContaining('arguments') as string }),
  );
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
