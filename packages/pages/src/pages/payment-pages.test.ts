import { describe, expect, test } from 'vitest';
import { locales } from '../languages/languages.ts';
import {
  sampleCharge,
  samplePayment,
  samplePaymentDone,
  samplePaymentView,
  stripe,
} from '../samples/sample-approval-views.ts';
import { actionsWith, expectOrder, textOf } from '../testing/page-assertions.ts';
import { sampleContext as en } from '../testing/sample-context.ts';
import { chargePage } from './charge-page.ts';
import { paymentDonePage } from './payment-done-page.ts';
import { paymentPage } from './payment-page.ts';

const atStripe = { ...samplePaymentView, payment: { ...samplePayment, processor: stripe } };
const signInAgain = { signInAgainHref: '/login?to=0a.sample' };

describe('the payment page', () => {
  test('keeps the reading order', () => {
    expectOrder(paymentPage(en, { ...atStripe, approval: 'passkey', notice: 'terms_changed' }), [
      'class="notice"',
      '<h1><bdi>Book Shop</bdi>',
      '<bdi>books.fabrikam.example</bdi>',
      'class="sum"',
      '<bdi>K7-42</bdi>',
      '<bdi>Fabrikam Books Ltd</bdi>',
      '<table class="items">',
      '<tfoot>',
      '<bdi>Order 2026-0417</bdi>',
      '<blockquote',
      'class="about"',
      '<bdi>Ada Okafor</bdi>',
      '<bdi>checkout.stripe.com</bdi>',
      'action="/e/0a.sample/decline"',
      'action="/e/0a.sample/accept"',
      'class="fine"',
    ]);
  });

  test('names the MCP server in title and heading, and the amount in the title, once large, and on the button', () => {
    const sum = /€\s?24[.,]90|24[.,]90\s€/;
    for (const locale of locales) {
      const markup = paymentPage({ ...en, locale }, atStripe);
      const title = /<title>(.*?)<\/title>/.exec(markup)?.[1];
      const name = locale === 'de' ? 'Buchladen' : 'Book Shop';
      expect(title).toContain(name);
      expect(title).toMatch(sum);
      expect(/<h1>(.*?)<\/h1>/.exec(markup)?.[1]).toContain(name);
      expect([...markup.matchAll(/<strong class="sum">(.*?)<\/strong>/g)].map(([, text = '']) => textOf(text))).toEqual(
        [expect.stringMatching(sum)],
      );
      expect(/<button class="button accent"[^>]*>(.*?)<\/button>/.exec(markup)?.[1]).toMatch(sum);
    }
  });

  test('leaves an amount that is too long out of the button', () => {
    const payment = { ...samplePayment, amount: { currency: 'USD', minorUnits: Number.MAX_SAFE_INTEGER, decimals: 2 } };
    const markup = paymentPage(en, { ...atStripe, payment });
    expect(/<button class="button accent"[^>]*>(.*?)<\/button>/.exec(markup)?.[1]).not.toMatch(/\d/);
  });

  test('shows quantity, price of one, price of all, and the total', () => {
    const rows = [...paymentPage(en, atStripe).matchAll(/<tr[^>]*>(.*?)<\/tr>/g)].map(([, row = '']) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell = '']) => textOf(cell)),
    );
    expect(rows.slice(1)).toEqual([
      ['The Left Hand of Darkness, paperback', '€23.90'],
      ['2 × €11.95'],
      ['Postage', '€3.50'],
      ['Voucher SPRING', '-€2.50'],
      ['Total', '€24.90'],
    ]);
  });

  test('has no table without items, and no destination without a processor', () => {
    const { items: _items, ...payment } = samplePayment;
    const markup = paymentPage(en, { ...samplePaymentView, payment });
    expect(markup).not.toContain('<table');
    expect(markup).not.toContain('stripe');
  });

  test('S69: says in every language that test mode takes no money', () => {
    for (const context of [en, { ...en, locale: 'zh-Hans' as const }]) {
      expect(paymentPage(context, { ...atStripe, payment: { ...atStripe.payment, isTest: true } })).toContain(
        'test-mode',
      );
      expect(paymentPage(context, atStripe)).not.toContain('test-mode');
    }
  });

  test('only the accepting form returns the digest', () => {
    const markup = paymentPage(en, { ...atStripe, shown: 'a"b' });
    expect(actionsWith(markup, 'name="shown" value="a&#34;b"')).toEqual(['/e/0a.sample/accept']);
  });

  test('has a sign-in link instead of the accepting form if a fresh sign-in is required, and still allows declining', () => {
    const markup = paymentPage(en, { ...atStripe, approval: signInAgain, notice: 'sign_in_again' });
    expect(markup).not.toContain('action="/e/0a.sample/accept"');
    expect(markup).not.toContain('name="shown"');
    expectOrder(markup, ['class="about"', 'action="/e/0a.sample/decline"', 'class="button accent" href="/login?to=']);
  });

  test('names the passkey on the button', () => {
    const labelOf = (approval: 'button' | 'passkey') =>
      /<button class="button accent"[^>]*><span>(.*?)<\/span>/.exec(paymentPage(en, { ...atStripe, approval }))?.[1];
    expect(labelOf('passkey')).toContain('passkey');
    expect(labelOf('button')).not.toContain('passkey');
  });

  test.each([
    'sign_in_again',
    'terms_changed',
    'payment_not_finished',
    'processor_unavailable',
    'passkey_failed',
  ] as const)('tells what happened: %s', notice => {
    expect(paymentPage(en, { ...atStripe, notice })).toMatch(/<div class="notice"><p>.+?<\/p><\/div>/);
  });
});

describe('the page between approval and processor', () => {
  const { continueHref: _href, ...view } = sampleCharge;

  test('links only to the named host, over TLS or on loopback', () => {
    for (const continueHref of [
      'https://checkout.stripe.com.evil.example/',
      'https://checkout.stripe.com:444/',
      'http://checkout.stripe.com/',
      'javascript:alert(1)',
    ]) {
      expect(() => chargePage(en, { ...view, continueHref })).toThrow(TypeError);
    }
    const payment = { ...view.payment, processor: { name: 'Stripe', host: '127.0.0.1:9' } };
    expect(chargePage(en, { ...view, payment, continueHref: 'http://127.0.0.1:9/pay' })).toContain(
      'http://127.0.0.1:9/',
    );
  });

  test('needs a processor', () => {
    expect(() => chargePage(en, { ...sampleCharge, payment: samplePayment })).toThrow(TypeError);
  });

  test('has a POST form if there is no URL yet', () => {
    const markup = chargePage(en, { ...view, continueAction: '/e/0a.sample/charge', notice: 'processor_unavailable' });
    expectOrder(markup, ['class="notice"', 'action="/e/0a.sample/decline"', 'action="/e/0a.sample/charge"']);
  });

  test('offers only a status check while the processor works', () => {
    const markup = chargePage(en, { ...view, checkHref: '/e/0a.sample/charge', notice: 'processing' });
    expect(markup).not.toContain('<form');
    expect(markup).not.toContain('checkout.stripe.com');
    expect(markup).toContain('href="/e/0a.sample/charge"');
  });

  test('shows no expiry that has passed', () => {
    const ends = (now: Date) => chargePage(en, { ...sampleCharge, now }).includes('<time ');
    expect(ends(sampleCharge.now)).toBe(true);
    expect(ends(sampleCharge.expiresAt)).toBe(false);
  });
});

describe('the receipt', () => {
  test('contains the terms, time, user and method of the approval, and its number', () => {
    expectOrder(paymentDonePage(en, samplePaymentDone), [
      '<h1>',
      'id="receipt-heading"',
      'class="figure">€24.90',
      '<bdi>Fabrikam Books Ltd</bdi>',
      '<table class="items">',
      '<bdi>Order 2026-0417</bdi>',
      '<bdi>Stripe</bdi>',
      '<bdi>books.fabrikam.example</bdi>',
      '<bdi>Ada Okafor</bdi>',
      'datetime="2026-03-04T14:24:00.000Z">March 4, 2026 at 2:24',
      `<bdi>${samplePaymentDone.receiptNumber}</bdi>`,
      'href="https://books.fabrikam.example/back"',
    ]);
  });

  test('says "paid" only if a processor has charged the user, and names the method of the approval', () => {
    const texts = ([true, false] as const).flatMap(paid =>
      (['button', 'passkey'] as const).map(method =>
        textOf(paymentDonePage(en, { ...samplePaymentDone, paid, method })),
      ),
    );
    expect(new Set(texts)).toHaveProperty('size', 4);
    expect(texts.map(text => /\bYou paid\b/.test(text))).toEqual([true, true, false, false]);
    expect(texts.map(text => text.includes('Paid at Stripe'))).toEqual([true, true, false, false]);
  });
});
