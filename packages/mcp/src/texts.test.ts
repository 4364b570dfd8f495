import { expect, test } from 'vitest';
import { createAsk, naming } from './ask.ts';
import { englishTexts } from './texts.ts';

const ask = createAsk('forge', {});

test('a provider is named as people know it once the gateway has said so', () => {
  const named = { authorization: { provider: 'forge', providerName: 'Code Forge' } };
  expect(naming(ask, named)).toEqual({ provider: 'forge', providerName: 'Code Forge' });
  expect(englishTexts({ kind: 'ask', ...naming(ask, named), matchCode: 'K7-4Q' })).toContain('Code Forge');
});

test.each([undefined, {}])('and as the handler wrote it until then', elicitation => {
  expect(naming(ask, elicitation)).toEqual({ provider: 'forge', providerName: 'forge' });
});

test('the match code is in every text that leads to the page', () => {
  const names = naming(ask);
  const link = { url: 'https://gate.example/e/el_1', expiresAt: '2026-01-01T00:00:00Z' };
  for (const text of [
    englishTexts({ kind: 'ask', ...names, matchCode: 'K7-4Q' }),
    englishTexts({ kind: 'unfinished', ...names, matchCode: 'K7-4Q', ...link }),
  ]) {
    expect(text).toContain('K7-4Q');
  }
});
