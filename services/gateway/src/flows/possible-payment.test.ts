import type { TermsAnswer } from '@postern/payment';
import { describe, expect, test } from 'vitest';
import { createAsksStage, parsedAsk, sampleTerms } from '../testing/asks-stage.ts';
import { askedRequest } from './asked-request.ts';
import { assertPossiblePayment } from './possible-payment.ts';

const impossible: TermsAnswer = {
  ...{ result: 'impossible', reason: 'quantity_too_large', member: 'items.1.quantity', message: 'too many' },
};

describe('S70: a payment that the processor cannot take', () => {
  const { caller, processors, scripted } = createAsksStage();
  scripted.takesNothing(impossible);
  const check = (change: object = {}) => {
    const request = askedRequest(parsedAsk({ payment: { ...sampleTerms, ...change } }), caller());
    if (request.kind !== 'payment') throw new TypeError('of another kind');
    assertPossiblePayment(request, caller(), processors);
  };

  test('is refused at issue with the member at fault', () => {
    expect(() => check()).toThrow(
      expect.objectContaining({
        code: 'payment_not_possible',
        errors: [{ path: 'body.payment.items.1.quantity', message: 'too many' }],
      }),
    );
  });

  test('is possible where the MCP server takes the money itself', () => {
    expect(() => check({ processor: 'none' })).not.toThrow();
  });

  test.each([
    ['above the limit', { amount: { currency: 'EUR', minorUnits: 100_001 } }],
    ['in another currency', { amount: { currency: 'USD', minorUnits: 1 } }],
    ['by another processor', { processor: 'cash' }],
  ])('is left to the domain to refuse %s', (_, change) => {
    expect(() => check(change)).not.toThrow();
  });
});
