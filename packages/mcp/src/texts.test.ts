import { expect, test } from 'vitest';
import { confirmationSpec, paymentSpec } from './ask/approvals.ts';
import { authorizationSpec } from './ask/authorize.ts';
import { credentialSpec } from './ask/credential.ts';
import { aboutOf } from './run/run.ts';
import { type About, amountText, englishTexts } from './texts.ts';

const authorization = authorizationSpec('forge', {});
const payment = paymentSpec(
  { payee: { name: 'Book Shop' }, amount: { currency: 'EUR', minorUnits: 2490 }, reference: 'A-1' },
  {},
).spec;
const confirmation = confirmationSpec('Delete repository acme/app', {}).spec;
const credential = credentialSpec(
  { name: 'acme', title: 'API key of Acme', fields: [{ name: 'key', label: 'API key' }] },
  {},
);
const abouts: About[] = [
  ...[authorization, payment, confirmation, credential].map(spec => aboutOf(spec)),
  { kind: 'form', title: 'Which branch?' },
  { kind: 'form', title: undefined },
];

test('texts use the display name of a provider once the gateway has returned it', () => {
  const named = { authorization: { provider: 'forge', providerName: 'Code Forge' } };
  expect(aboutOf(authorization)).toEqual({ kind: 'authorization', provider: 'forge', providerName: 'forge' });
  expect(aboutOf(authorization, {})).toEqual(aboutOf(authorization));
  expect(aboutOf(authorization, named)).toEqual({
    kind: 'authorization',
    provider: 'forge',
    providerName: 'Code Forge',
  });
});

test.each([
  [authorization, 'Connect your forge account to continue. Code on the page: K7-4Q'],
  [payment, 'Approve the payment of 24.90 EUR to Book Shop. Code on the page: K7-4Q'],
  [confirmation, 'Confirm: Delete repository acme/app. Code on the page: K7-4Q'],
  [credential, 'Enter API key of Acme. Code on the page: K7-4Q'],
])('the text names the subject of the ask: case %#', (ask, text) => {
  expect(englishTexts({ kind: 'ask', about: aboutOf(ask), matchCode: 'K7-4Q' })).toBe(text);
});

test.each(abouts)('every text with a link contains the match code: $kind', about => {
  const link = { url: 'https://gate.example/e/el_1', expiresAt: '2026-01-01T00:00:00Z' };
  expect(englishTexts({ kind: 'ask', about, matchCode: 'K7-4Q' })).toContain('K7-4Q');
  const unfinished = englishTexts({ kind: 'unfinished', request: 'tool', about, matchCode: 'K7-4Q', ...link });
  expect(unfinished).toContain('K7-4Q');
  expect(unfinished).toContain(link.url);
});

test.each(abouts)('all texts differ: $kind', about => {
  const kinds = [
    'declined',
    'cancelled',
    'expired',
    'client_declined',
    'client_cancelled',
    'client_incapable',
  ] as const;
  const texts = [...kinds, 'waiting' as const].map(kind => englishTexts({ kind, about, mayHaveActed: false }));
  texts.push(englishTexts({ kind: 'muted', about, undoUrl: undefined, mayHaveActed: false }));
  expect(new Set(texts).size).toBe(texts.length);
});

test('S224: no text says that nothing was done once the handler may have acted', () => {
  const [about] = abouts;
  if (about === undefined) throw new Error('no example');
  const texts = (mayHaveActed: boolean) => [
    ...(['declined', 'cancelled', 'expired', 'client_declined', 'client_cancelled'] as const).map(kind =>
      englishTexts({ kind, about, mayHaveActed }),
    ),
    englishTexts({ kind: 'muted', about, undoUrl: undefined, mayHaveActed }),
  ];
  expect(texts(false).every(text => text.includes('Nothing was done'))).toBe(true);
  expect(texts(true).some(text => text.includes('Nothing was done'))).toBe(false);
});

test('names the faults of form content without quoting it', () => {
  const about: About = { kind: 'form', title: 'Release' };
  expect(englishTexts({ kind: 'question', about, message: undefined, faults: [] })).toBe('Release');
  const faults = [{ path: 'branch', code: 'too_long' as const }];
  expect(englishTexts({ kind: 'question', about, message: 'Ready?', faults })).toBe(
    'Ready? The last answer did not fit: branch',
  );
});

test.each([
  ['EUR', 2490, '24.90 EUR'],
  ['EUR', 5, '0.05 EUR'],
  ['JPY', 1050, '1050 JPY'],
  ['KWD', 1, '0.001 KWD'],
  ['CLF', 12_345, '1.2345 CLF'],
  ['HUF', 100, '1.00 HUF'],
  ['USD', 999_999_999_999, '9999999999.99 USD'],
])('%s %d', (currency, minorUnits, text) => {
  expect(amountText({ currency, minorUnits })).toBe(text);
});
