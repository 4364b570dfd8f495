import { describe, expect, test } from 'vitest';
import { sampleConnection, sampleContext, sampleDisconnect, sampleDisconnected } from '../sample-views.ts';
import { disconnectedPage, disconnectPage } from './disconnect-pages.ts';

const providerHref = 'https://github.com/settings/applications';
const twoServers = [...sampleConnection.mcpServers, { name: 'Release Notes', host: 'notes.northwind.example' }];

describe('before', () => {
  test('the page reads: what, who loses it, what happens, the safe button, the other', () => {
    const markup = disconnectPage(sampleContext, { ...sampleDisconnect, mcpServers: twoServers });
    const order = [
      '<h1>',
      '<bdi>ada-okafor</bdi>',
      '<bdi>Issue Tracker</bdi>',
      '<bdi>Release Notes</bdi>',
      'consequences-heading',
      '<bdi>Issue Tracker</bdi> and <bdi>Release Notes</bdi>',
      'href="/me"',
      `action="${sampleDisconnect.disconnectAction}"`,
    ].map(piece => markup.indexOf(piece));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('what happens at the provider differs', () => {
    const pages = (['revoke', 'unsupported', 'shared'] as const).map(provider =>
      disconnectPage(sampleContext, { ...sampleDisconnect, provider }),
    );
    expect(new Set(pages).size).toBe(3);
  });
});

describe('after', () => {
  test('what happened at the provider differs', () => {
    const pages = (['revoked', 'pending', 'unsupported', 'shared'] as const).map(provider =>
      disconnectedPage(sampleContext, { ...sampleDisconnected, provider }),
    );
    expect(new Set(pages).size).toBe(4);
  });

  test('leads back', () => {
    expect(disconnectedPage(sampleContext, sampleDisconnected)).toContain('href="/me"');
  });
});

test('only where there is something to do at the provider, the way there is shown', () => {
  const link = `href="${providerHref}" target="_blank" rel="noopener noreferrer"`;
  for (const provider of ['revoke', 'unsupported', 'shared'] as const) {
    const markup = disconnectPage(sampleContext, { ...sampleDisconnect, provider, providerHref });
    expect(markup.includes(link)).toBe(provider === 'unsupported');
  }
  for (const provider of ['revoked', 'pending', 'unsupported', 'shared'] as const) {
    const markup = disconnectedPage(sampleContext, { ...sampleDisconnected, provider, providerHref });
    expect(markup.includes(link)).toBe(provider === 'unsupported');
  }
});

test.each(['javascript:alert(1)', '/settings', 'https://user@github.com/'])('no way to the provider is %s', href => {
  const view = { provider: 'unsupported', providerHref: href } as const;
  expect(() => disconnectPage(sampleContext, { ...sampleDisconnect, ...view })).toThrow(TypeError);
  expect(() => disconnectedPage(sampleContext, { ...sampleDisconnected, ...view })).toThrow(TypeError);
});

test('names nobody where nobody uses it any more', () => {
  const view = { mcpServers: [] };
  for (const markup of [
    disconnectPage(sampleContext, { ...sampleDisconnect, ...view }),
    disconnectedPage(sampleContext, { ...sampleDisconnected, ...view }),
  ]) {
    expect(markup).not.toContain('Issue Tracker');
  }
});
