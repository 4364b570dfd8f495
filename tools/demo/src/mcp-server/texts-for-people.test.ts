import type { About, TextContext } from '@postern/mcp';
import { describe, expect, test } from 'vitest';
import { textsForPeople } from './texts-for-people.ts';

const abouts: readonly About[] = [
  { kind: 'authorization', provider: 'forge', providerName: 'Code Forge' },
  { kind: 'payment', payee: 'Corner Bookshop', amount: { currency: 'EUR', minorUnits: 1250 }, reference: 'Order' },
  { kind: 'confirmation', title: 'Delete a repository', danger: 'destructive' },
  { kind: 'credential', name: 'weather', title: 'API key' },
  { kind: 'form', title: undefined },
];
const url = 'http://localhost:4400/e/el_1';
const results = [
  { kind: 'unfinished', request: 'tool', matchCode: 'K7-42', url, expiresAt: '2026-05-01T10:00:00.000Z' },
  { kind: 'declined' },
  { kind: 'cancelled' },
  { kind: 'expired' },
  { kind: 'client_declined' },
  { kind: 'client_cancelled' },
  { kind: 'client_incapable' },
  { kind: 'muted', undoUrl: 'http://localhost:4400/me' },
] as const;

describe.each(abouts)('the results about $kind', about => {
  test.each(results)('address the user: $kind', result => {
    const text = textsForPeople({ about, ...result } as TextContext);
    expect(text).toMatch(/\b[Yy]ou/);
    expect(text).not.toMatch(/\b[Tt]he user\b|this tool\b|\btheir\b/);
  });

  test('keep the code and the link', () => {
    expect(textsForPeople({ about, ...results[0] })).toContain(url);
    expect(textsForPeople({ about, ...results[0] })).toContain('K7-42');
    expect(textsForPeople({ about, kind: 'ask', matchCode: 'K7-42' })).toContain('K7-42');
  });
});
