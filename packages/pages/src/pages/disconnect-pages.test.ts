import { describe, expect, test } from 'vitest';
import { locales } from '../languages/languages.ts';
import { sampleConnection, sampleDisconnect, sampleDisconnected } from '../samples/sample-views.ts';
import { sampleContext } from '../testing/sample-context.ts';
import { disconnectedPage, disconnectPage } from './disconnect-pages.ts';

const providerHref = 'https://github.com/settings/applications';
const twoServers = [...sampleConnection.mcpServers, { name: 'Release Notes', host: 'notes.northwind.example' }];

const results = [
  'revoked',
  'refresh_token_revoked',
  'access_token_revoked',
  'pending',
  'unsupported',
  'shared',
] as const;

describe('before disconnecting', () => {
  test('the page has the reading order account, MCP servers, consequences, safe button, other button', () => {
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

  test('the page says what happens at the provider', () => {
    const pages = (['revoke', 'unsupported', 'shared'] as const).map(provider =>
      disconnectPage(sampleContext, { ...sampleDisconnect, provider }),
    );
    expect(new Set(pages).size).toBe(3);
  });
});

describe('after disconnecting', () => {
  test('the result page says what happened at the provider', () => {
    const pages = results.map(provider => disconnectedPage(sampleContext, { ...sampleDisconnected, provider }));
    expect(new Set(pages).size).toBe(results.length);
  });

  test('leads back', () => {
    expect(disconnectedPage(sampleContext, sampleDisconnected)).toContain('href="/me"');
  });
});

test('the page links to the provider only if the user must act there', () => {
  const link = `href="${providerHref}" target="_blank" rel="noopener noreferrer"`;
  for (const provider of ['revoke', 'unsupported', 'shared'] as const) {
    const markup = disconnectPage(sampleContext, { ...sampleDisconnect, provider, providerHref });
    expect(markup.includes(link)).toBe(provider === 'unsupported');
  }
  for (const provider of results) {
    const markup = disconnectedPage(sampleContext, { ...sampleDisconnected, provider, providerHref });
    expect(markup.includes(link)).toBe(provider === 'unsupported' || provider === 'access_token_revoked');
  }
});

test.each(locales)('S81: the pages show how long the access may last, in %s', locale => {
  const context = { ...sampleContext, locale };
  const time = 'datetime="2026-03-04T15:22:00.000Z"';
  const accessUntil = new Date('2026-03-04T15:22:00Z');
  const before = { ...sampleDisconnect, provider: 'unsupported' } as const;
  const after = { ...sampleDisconnected, provider: 'refresh_token_revoked' } as const;
  expect(disconnectPage(context, { ...before, accessUntil })).toContain(time);
  expect(disconnectedPage(context, { ...after, accessUntil })).toContain(time);
  // The gateway has not asked the provider yet, so the result is unknown.
  expect(disconnectPage(context, { ...before, provider: 'revoke', accessUntil })).not.toContain(time);
  for (const page of [
    (view: object) => disconnectPage(context, { ...before, ...view }),
    (view: object) => disconnectedPage(context, { ...after, ...view }),
  ]) {
    expect(new Set([page({}), page({ accessUntil }), page({ accessUntil: 'unknown' })]).size).toBe(3);
  }
});

test.each(['javascript:alert(1)', '/settings', 'https://user@github.com/'])(
  'a link to the provider must not be %s',
  href => {
    const view = { provider: 'unsupported', providerHref: href } as const;
    expect(() => disconnectPage(sampleContext, { ...sampleDisconnect, ...view })).toThrow(TypeError);
    expect(() => disconnectedPage(sampleContext, { ...sampleDisconnected, ...view })).toThrow(TypeError);
  },
);

test('the page names no MCP server if none uses the connection', () => {
  const view = { mcpServers: [] };
  for (const markup of [
    disconnectPage(sampleContext, { ...sampleDisconnect, ...view }),
    disconnectedPage(sampleContext, { ...sampleDisconnected, ...view }),
  ]) {
    expect(markup).not.toContain('Issue Tracker');
  }
});
