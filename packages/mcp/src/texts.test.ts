import { expect, test } from 'vitest';
import { aboutOf } from './ask.ts';
import { createAuthorizationAsk } from './authorize.ts';
import { createConfirmationAsk } from './confirm.ts';
import { createCredentialAsk } from './credential.ts';
import { createPaymentAsk } from './pay.ts';
import { type About, englishTexts } from './texts.ts';

const authorization = createAuthorizationAsk('forge', {});
const payment = createPaymentAsk(
  { payee: { name: 'Book Shop' }, amount: { currency: 'EUR', minorUnits: 2490 }, reference: 'A-1' },
  {},
).ask;
const confirmation = createConfirmationAsk('Delete repository acme/app', {}).ask;
const credential = createCredentialAsk(
  { name: 'acme', title: 'API key of Acme', fields: [{ name: 'key', label: 'API key' }] },
  {},
);
const abouts: About[] = [
  ...[authorization, payment, confirmation, credential].map(ask => aboutOf(ask)),
  { kind: 'form', title: 'Which branch?' },
  { kind: 'form', title: undefined },
];

test('a provider is named as people know it once the gateway has said so', () => {
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
])('the question says what is asked: case %#', (ask, text) => {
  expect(englishTexts({ kind: 'ask', about: aboutOf(ask), matchCode: 'K7-4Q' })).toBe(text);
});

test.each(abouts)('the match code is in every text that leads to the page: $kind', about => {
  const link = { url: 'https://gate.example/e/el_1', expiresAt: '2026-01-01T00:00:00Z' };
  expect(englishTexts({ kind: 'ask', about, matchCode: 'K7-4Q' })).toContain('K7-4Q');
  const unfinished = englishTexts({ kind: 'unfinished', about, matchCode: 'K7-4Q', ...link });
  expect(unfinished).toContain('K7-4Q');
  expect(unfinished).toContain(link.url);
});

test.each(abouts)('every text is said in other words: $kind', about => {
  const kinds = [
    'declined',
    'cancelled',
    'expired',
    'client_declined',
    'client_cancelled',
    'client_incapable',
  ] as const;
  const texts = [...kinds, 'waiting' as const].map(kind => englishTexts({ kind, about }));
  expect(new Set(texts).size).toBe(texts.length);
});

test('what was wrong with an answer is named, without what was typed', () => {
  const about: About = { kind: 'form', title: 'Release' };
  expect(englishTexts({ kind: 'question', about, message: undefined, faults: [] })).toBe('Release');
  const faults = [{ path: 'branch', code: 'too_long' as const }];
  expect(englishTexts({ kind: 'question', about, message: 'Ready?', faults })).toBe(
    'Ready? The last answer did not fit: branch',
  );
});
