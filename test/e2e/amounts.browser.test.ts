import { ConfigError, type GatewayConfigInput, parseConfig } from '@postern/gateway';
import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, bookTerms, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { newPerson } from '../support/browser.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { hashOf, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

const currencies = [
  'EUR',
  'USD',
  'GBP',
  'CHF',
  'CNY',
  'JPY',
  'KRW',
  'ISK',
  'KWD',
  'BHD',
  'TND',
  'CLF',
  'UYW',
  'HUF',
  'AMD',
];
const unlimited = Object.fromEntries(currencies.map(code => [code, 999_999_999_999]));

let browser: Browser;
let world: PayingWorld;
let user: string;
let raw: RawBrowser;
beforeAll(async () => {
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({
      payment: { processors: ['none', 'stripe-main'], maxAmount: unlimited },
      mcpServer: {
        limits: { elicitationsPerSubject: 10_000 },
      },
      otherMcpServers: [
        { id: 'small', payment: { processors: ['none'], maxAmount: { EUR: 500, JPY: 1 } } },
        { id: 'by-stripe', payment: { processors: ['stripe-main'], maxAmount: { EUR: 500 }, payees: ['Book Shop'] } },
        { id: 'penniless' },
        { id: 'asker', kinds: ['confirmation', 'form'], payment: { maxAmount: { EUR: 500 } } },
      ],
    }),
  ]);
  user = world.subject();
  raw = await visitorFor(world, user, (await issueFor(world, user, paymentOf())).elicitationId);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const billed = (page: string): string => /<strong class="sum">(.*?)<\/strong>/s.exec(page)?.[1] ?? '';
const text = (markup: string): string =>
  markup
    .replace(/<[^>]+>/g, '')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/[\u00a0\u202f]/g, ' ');

/** Written by hand from ISO 4217's table of minor units, not computed by our formatter. */
const table: readonly (readonly [string, number, string, string])[] = [
  ['EUR', 1, '€0.01', '€0.01'],
  ['EUR', 2490, '€24.90', '€24.90'],
  ['EUR', 99_999_999_999, '€999,999,999.99', '€999,999,999.99'],
  // With the currency code if several currencies share the symbol.
  ['USD', 100_000, '$1,000.00 USD', 'US$1,000.00'],
  ['GBP', 5, '£0.05 GBP', '£0.05 GBP'],
  ['CHF', 1005, 'CHF 10.05', 'CHF 10.05'],
  ['CNY', 8888, 'CN¥88.88', '¥88.88 CNY'],
  ['JPY', 1, '¥1 JPY', 'JP¥1'],
  ['JPY', 1050, '¥1,050 JPY', 'JP¥1,050'],
  ['KRW', 50_000, '₩50,000 KRW', '₩50,000 KRW'],
  // Currencies without a minor unit, and one whose minor unit shops do not use.
  ['ISK', 1500, 'ISK 1,500', 'ISK 1,500'],
  ['HUF', 150_050, 'HUF 1,500.50', 'HUF 1,500.50'],
  ['AMD', 12_345, 'AMD 123.45', 'AMD 123.45'],
  ['KWD', 1, 'KWD 0.001', 'KWD 0.001'],
  ['KWD', 123_456, 'KWD 123.456', 'KWD 123.456'],
  ['BHD', 1000, 'BHD 1.000', 'BHD 1.000'],
  ['TND', 10, 'TND 0.010', 'TND 0.010'],
  ['CLF', 12_345, 'CLF 1.2345', 'CLF 1.2345'],
  ['UYW', 1, 'UYW 0.0001', 'UYW 0.0001'],
];

describe('S39: amounts on the real page', () => {
  it.each(table)('%s %i', async (currency, minorUnits, en, zh) => {
    const ask = paymentOf({
      processor: 'none',
      amount: { currency, minorUnits },
      items: [{ label: 'x', unitMinorUnits: minorUnits }],
    });
    const { elicitationId } = await issueFor(world, user, ask);
    for (const [language, expected] of [
      ['en', en],
      ['zh-Hans', zh],
    ] as const) {
      const page = await raw.get(`/e/${elicitationId}`, { headers: { 'accept-language': language } });
      const shown = text(billed(page.body));
      expect(shown).toBe(expected);
      // The rest of the page shows the same text for the same amount.
      expect(text(/<tfoot>(.*?)<\/tfoot>/s.exec(page.body)?.[1] ?? '')).toContain(shown);
      expect(text(/<title>(.*?)<\/title>/s.exec(page.body)?.[1] ?? '')).toContain(shown);
    }
    await world.api.cancel(elicitationId);
  });

  it('the record of a payment shows the requested amount in both languages', async () => {
    const amount = { currency: 'KWD', minorUnits: 1_234_567 };
    const ask = paymentOf({ processor: 'none', amount, items: [{ label: 'x', unitMinorUnits: 1_234_567 }] });
    const { elicitationId } = await issueFor(world, user, ask);
    await acceptWith(raw, elicitationId);
    for (const language of ['en', 'zh-Hans']) {
      const page = await raw.get(`/e/${elicitationId}`, { headers: { 'accept-language': language } });
      expect(text(page.body)).toContain('KWD 1,234.567');
    }
  });

  it('a real browser shows the text of the markup', async () => {
    const { url, elicitationId } = await issueFor(
      world,
      user,
      paymentOf({
        processor: 'none',
        amount: { currency: 'JPY', minorUnits: 1050 },
        items: [{ label: 'x', unitMinorUnits: 1050 }],
      }),
    );
    for (const locale of ['en-GB', 'zh-CN']) {
      await using person = await newPerson(browser, user, { locale });
      const [name, value] = ['postern_session', raw.cookies.get('postern_session') ?? ''];
      await person.context.addCookies([{ name, value, url: world.publicUrl }]);
      await person.page.goto(url);
      expect(await person.page.locator('.sum').textContent()).toContain('1,050');
      expect(await person.page.locator('html').getAttribute('lang')).toBe(locale === 'en-GB' ? 'en' : 'zh-Hans');
    }
    await world.api.cancel(elicitationId);
  });
});

describe('S39: limits of each MCP server', () => {
  const amount = (currency: string, minorUnits: number) => ({ amount: { currency, minorUnits } });
  const issueAs = (id: string, payment: object) =>
    world.apiOf({ apiKey: keyOf(id) }).call<{ code?: string; elicitationId?: string }>('POST', '/v1/elicitations', {
      kind: 'payment',
      subject: { issuer: world.identityProvider.issuer, subject: 'alice' },
      payment: { payee: bookTerms.payee, reference: crypto.randomUUID(), ...payment },
    });

  it.each<[string, string, object, number, string | undefined]>([
    ['exactly the limit', 'small', amount('EUR', 500), 201, undefined],
    ['one cent above', 'small', amount('EUR', 501), 422, 'amount_over_limit'],
    ['one yen above a limit of one yen', 'small', amount('JPY', 2), 422, 'amount_over_limit'],
    ['a currency without a limit', 'small', amount('USD', 1), 422, 'currency_not_allowed'],
    ['no currency at all', 'small', amount('XYZ', 1), 422, 'currency_not_allowed'],
    ['the name of an inherited object member', 'small', amount('__p', 1), 400, 'invalid_request'],
    ['a currency in small letters', 'small', amount('eur', 1), 400, 'invalid_request'],
    ['another processor', 'small', { ...amount('EUR', 1), processor: 'stripe-main' }, 403, 'processor_not_allowed'],
    [
      'a processor that is not configured',
      'small',
      { ...amount('EUR', 1), processor: 'cash' },
      403,
      'processor_not_allowed',
    ],
    [
      'no processor where one is needed',
      'by-stripe',
      { ...amount('EUR', 1), processor: 'none' },
      403,
      'processor_not_allowed',
    ],
    ['its only processor', 'by-stripe', amount('EUR', 50), 201, undefined],
    ['a payment without any policy', 'penniless', amount('EUR', 1), 403, 'kind_not_allowed'],
    ['a kind that it may not request', 'asker', amount('EUR', 1), 403, 'kind_not_allowed'],
  ])('%s (%s)', async (_, mcpServerId, payment, status, code) => {
    const answer = await issueAs(mcpServerId, payment);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    if (status !== 201) expect(answer.body).not.toHaveProperty('elicitationId');
  });

  it.each<[string, object, string]>([
    ['below the minimum', amount('EUR', 49), 'amount.minorUnits'],
    ['between two amounts of the processor', amount('KWD', 12_345), 'amount.minorUnits'],
    ['above the maximum', amount('USD', 100_000_000), 'amount.minorUnits'],
    ['in a currency that the processor does not accept', amount('CLF', 10_000), 'amount.currency'],
    [
      'with a quantity that the processor does not accept',
      { ...amount('EUR', 1_000_000), items: [{ label: 'x', quantity: 1_000_000, unitMinorUnits: 1 }] },
      'items.0.quantity',
    ],
  ])('S70: refuses a payment %s at issue, and names the member', async (_, payment, member) => {
    const answer = await issueAs('tracker', { ...payment, processor: 'stripe-main' });
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'payment_not_possible', errors: [{ path: `body.payment.${member}` }] },
    });
    expect(world.stripe.requests('create')).toEqual([]);
  });

  it.each(['payment', 'credential'] as const)('refuses an MCP server that may not issue the kind %s', async kind => {
    const subject = { issuer: world.identityProvider.issuer, subject: 'alice' };
    const asks = {
      payment: { payee: bookTerms.payee, reference: 'r', ...amount('EUR', 1) },
      credential: { name: 'key', title: 'Key', fields: [{ name: 'key', label: 'Key' }] },
    };
    const answer = await world
      .apiOf({ apiKey: keyOf('asker') })
      .call('POST', '/v1/elicitations', { kind, subject, [kind]: asks[kind] });
    expect(answer).toMatchObject({ status: 403, body: { code: 'kind_not_allowed' } });
  });
});

describe('S62, S39: an invalid payment policy stops the start with the path of the member', () => {
  const base = (): GatewayConfigInput => ({
    publicUrl: 'http://localhost:8080',
    redis: { url: 'redis://redis.example:6379' },
    vault: { keys: [{ kid: 'k', key: Buffer.from(Array.from({ length: 32 }, (_, n) => n * 7)).toString('base64') }] },
    identityProviders: [
      { name: 'id', displayName: 'ID', issuer: 'https://id.example', clientId: 'c', clientSecret: 's' },
    ],
    mcpServers: [],
  });
  const mcpServer = (change: object) => ({
    id: 'tracker',
    name: 'Issue Tracker',
    url: 'https://tracker.example/mcp',
    apiKeys: [{ hash: hashOf('k') }],
    issuers: ['https://id.example'],
    ...change,
  });
  const stripeProcessor = {
    type: 'stripe',
    name: 'main',
    secretKey: 'sk_test_0123456789',
    webhookSecrets: ['whsec_0123456789'],
  };

  function faultsOf(config: unknown): string[] {
    try {
      parseConfig(config);
    } catch (error) {
      if (error instanceof ConfigError) return error.faults.map(({ path }) => path);
      throw error;
    }
    return [];
  }

  it.each<[string, object, object, string[]]>([
    ['no fault', { payment: { maxAmount: { EUR: 1 } } }, {}, []],
    ['no currency', { payment: { maxAmount: {} } }, {}, ['mcpServers[0].payment.maxAmount']],
    ['no limits', { payment: {} }, {}, ['mcpServers[0].payment.maxAmount']],
    ['an unknown currency', { payment: { maxAmount: { XYZ: 1 } } }, {}, ['mcpServers[0].payment.maxAmount.XYZ']],
    ['a fraction', { payment: { maxAmount: { EUR: 1.5 } } }, {}, ['mcpServers[0].payment.maxAmount.EUR']],
    ['nothing', { payment: { maxAmount: { EUR: 0 } } }, {}, ['mcpServers[0].payment.maxAmount.EUR']],
    ['too much', { payment: { maxAmount: { EUR: 1e12 } } }, {}, ['mcpServers[0].payment.maxAmount.EUR']],
    [
      'a negative threshold',
      { payment: { maxAmount: { EUR: 1 }, passkeyAbove: { EUR: -1 } } },
      {},
      ['mcpServers[0].payment.passkeyAbove.EUR'],
    ],
    ...(
      [
        ['daily limits that are empty', { EUR: {} }, '.EUR'],
        ['a daily limit below that of a single payment', { EUR: { max: 99 } }, '.EUR.max'],
        [
          'a daily passkey threshold equal to the daily limit',
          { EUR: { passkeyAbove: 100, max: 100 } },
          '.EUR.passkeyAbove',
        ],
        ['daily limits in a currency that is not accepted', { JPY: { max: 100 } }, '.JPY'],
      ] as const
    ).map(([name, perPersonAndDay, path]): [string, object, object, string[]] => [
      name,
      { payment: { maxAmount: { EUR: 100 }, perPersonAndDay } },
      {},
      [`mcpServers[0].payment.perPersonAndDay${path}`],
    ]),
    [
      'a daily passkey threshold with an IP address as host',
      { payment: { maxAmount: { EUR: 1 }, perPersonAndDay: { EUR: { passkeyAbove: 1 } } } },
      { publicUrl: 'http://127.0.0.1:8080' },
      ['mcpServers[0].payment.perPersonAndDay'],
    ],
    [
      'a number of seconds that is too small',
      { payment: { maxAmount: { EUR: 1 }, freshSignInSeconds: 29 } },
      {},
      ['mcpServers[0].payment.freshSignInSeconds'],
    ],
    ['no processors', { payment: { maxAmount: { EUR: 1 }, processors: [] } }, {}, ['mcpServers[0].payment.processors']],
    [
      'an unknown processor',
      { payment: { maxAmount: { EUR: 1 }, processors: ['cash'] } },
      {},
      ['mcpServers[0].payment.processors'],
    ],
    ['an unknown member', { payment: { maxAmount: { EUR: 1 }, surprise: 1 } }, {}, ['mcpServers[0].payment']],
    ['payments without a policy', { kinds: ['payment'] }, {}, ['mcpServers[0].payment']],
    ['an unknown kind', { kinds: ['gift'] }, {}, ['mcpServers[0].kinds[0]']],
    [
      'a passkey threshold with an IP address as host',
      { payment: { maxAmount: { EUR: 1 }, passkeyAbove: { EUR: 1 } } },
      { publicUrl: 'http://127.0.0.1:8080' },
      ['mcpServers[0].payment.passkeyAbove'],
    ],
    ['two processors with the same name', {}, { processors: [stripeProcessor, stripeProcessor] }, ['processors']],
    [
      'a processor without secrets',
      {},
      { processors: [{ ...stripeProcessor, webhookSecrets: [] }] },
      ['processors[0].webhookSecrets'],
    ],
    [
      'a processor URL without TLS',
      {},
      { processors: [{ ...stripeProcessor, apiUrl: 'http://api.example' }] },
      ['processors[0].apiUrl'],
    ],
    [
      'a processor of an unknown type',
      {},
      { processors: [{ ...stripeProcessor, type: 'cash' }] },
      ['processors[0].type'],
    ],
    ['a processor called none', {}, { processors: [{ ...stripeProcessor, name: 'none' }] }, ['processors[0].name']],
    [
      'an invalid receipt key',
      {},
      { receipts: { keys: [{ kid: 'r', key: 'secret-that-is-no-jwk' }] } },
      ['receipts.keys[0].key'],
    ],
    [
      'a check without a way',
      { credentialChecks: { key: { url: 'https://api.example' } } },
      {},
      ['mcpServers[0].credentialChecks.key'],
    ],
    [
      'a credential check with two schemes',
      { credentialChecks: { key: { url: 'https://api.example', bearer: 'a', header: { name: 'X-Key', field: 'a' } } } },
      {},
      ['mcpServers[0].credentialChecks.key'],
    ],
    [
      'a credential check that accepts refusals',
      { credentialChecks: { key: { url: 'https://api.example', bearer: 'a', accepted: [401] } } },
      {},
      ['mcpServers[0].credentialChecks.key.accepted[0]'],
    ],
    [
      'a credential check without TLS',
      { credentialChecks: { key: { url: 'http://api.example', bearer: 'a' } } },
      {},
      ['mcpServers[0].credentialChecks.key.url'],
    ],
  ])('%s', (_, server, top, paths) => {
    const found = faultsOf({ ...base(), ...top, mcpServers: [mcpServer(server)] });
    expect([...new Set(found)]).toEqual(paths);
  });
});
