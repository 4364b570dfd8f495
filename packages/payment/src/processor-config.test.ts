import { describe, expect, test } from 'vitest';
import { processorConfigSchema } from './processor-config.ts';

const least = { type: 'stripe', name: 'stripe', secretKey: 'sk_test_a1', webhookSecrets: ['whsec_a1'] };
const faultsOf = (more: Readonly<Record<string, unknown>>) =>
  processorConfigSchema.safeParse({ ...least, ...more }).error?.issues.map(({ path }) => path.join('.')) ?? [];

describe('configuration of a processor', () => {
  test('defaults', () => {
    expect(processorConfigSchema.parse(least)).toEqual({
      ...least,
      displayName: 'Stripe',
      testMode: false,
      paymentMethodTypes: ['card'],
    });
  });

  test.each([
    { secretKey: 'rk_live_a1' },
    { webhookSecrets: ['whsec_new', 'whsec_old'] },
    { apiUrl: 'http://127.0.0.1:4242' },
    { apiUrl: 'http://localhost:4242' },
    { apiUrl: 'http://[::1]:4242' },
    { checkoutHost: 'pay.shop.example' },
    { paymentMethodTypes: ['card', 'sepa_debit'] },
  ])('accepts %j', more => {
    expect(faultsOf(more)).toEqual([]);
  });

  test.each([
    [{ type: 'other' }, 'type'],
    [{ name: 'none' }, 'name'],
    [{ name: 'Stripe' }, 'name'],
    [{ secretKey: 'pk_live_a1' }, 'secretKey'],
    [{ secretKey: 'sk_test_a1\n' }, 'secretKey'],
    [{ webhookSecrets: [] }, 'webhookSecrets'],
    [{ webhookSecrets: ['secret'] }, 'webhookSecrets.0'],
    [{ apiUrl: 'https://api.example' }, 'apiUrl'],
    [{ apiUrl: 'http://127.0.0.1.example' }, 'apiUrl'],
    [{ apiUrl: 'ftp://127.0.0.1' }, 'apiUrl'],
    [{ apiUrl: 'http://127.0.0.1:4242', secretKey: 'sk_live_a1' }, 'apiUrl'],
    [{ checkoutHost: 'https://pay.shop.example' }, 'checkoutHost'],
    [{ paymentMethodTypes: [] }, 'paymentMethodTypes'],
    [{ sessionMinutes: 30 }, ''],
  ])('refuses %j at %s', (more, path) => {
    expect(faultsOf(more)).toEqual([path]);
  });
});
