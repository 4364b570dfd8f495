import { describe, expect, test } from 'vitest';
import { sampleConnection, sampleContext, sampleMe } from '../testing/sample-views.ts';
import { type ConnectionView, type MeView, mePage } from './me-page.ts';

const nothing = { waiting: [], connections: [], credentials: [], passkeys: [] };
const entriesOf = (connections: readonly ConnectionView[], rest: Partial<MeView> = {}) => {
  const markup = mePage(sampleContext, { ...nothing, ...rest, connections });
  return [...markup.matchAll(/<li class="entry">(.*?)<\/div><\/li>/gs)].map(([, entry = '']) => entry);
};
const { lastUse: _lastUse, accountName: _accountName, ...unused } = sampleConnection;

test('open elicitations are listed before connections', () => {
  const markup = mePage(sampleContext, sampleMe);
  const order = ['<h1>', '<bdi>Ada Okafor</bdi>', 'waiting-heading', 'href="/e/0a.sample"', 'connections-heading'].map(
    piece => markup.indexOf(piece),
  );
  expect(order).not.toContain(-1);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
});

test('an empty list is explained', () => {
  const markup = mePage(sampleContext, nothing);
  expect(markup.match(/<p class="empty">/g)).toHaveLength(2);
  expect(markup).not.toMatch(/class="entry"|<form/);
  expect(mePage(sampleContext, sampleMe)).not.toContain('class="empty"');
});

describe('an account', () => {
  test('names all MCP servers that may use it, with their hosts', () => {
    const [entry = ''] = entriesOf([
      { ...sampleConnection, mcpServers: [...sampleConnection.mcpServers, { name: 'Other', host: 'other.example' }] },
    ]);
    for (const value of ['Issue Tracker', 'issues.northwind.example', 'Other', 'other.example']) {
      expect(entry).toContain(`<bdi>${value}</bdi>`);
    }
  });

  test('shows the time and the MCP server of the last use, and the tool as a claim', () => {
    const at = new Date('2026-03-04T14:20:00Z');
    const [claimed = ''] = entriesOf([sampleConnection]);
    expect(claimed).toMatch(
      /datetime="2026-03-04T14:20:00.000Z">Mar 4, 2026, 2:20\sPM UTC<\/time>.*<bdi>create_issue<\/bdi>.*<bdi>Issue Tracker<\/bdi>/,
    );
    const [plain = ''] = entriesOf([{ ...unused, lastUse: { at, mcpServerName: 'Somebody' } }]);
    expect(plain).toContain('<bdi>Somebody</bdi>');
    const [never = ''] = entriesOf([unused]);
    expect(never.match(/<time /g)).toHaveLength(1);
  });

  test.each(['refused', 'rejected', 'expired'] as const)('that is %s is marked as not working', lost => {
    const [works = '', broken = ''] = [...entriesOf([unused]), ...entriesOf([{ ...unused, lost }])];
    expect(works).toContain('class="badge good"');
    expect(works).not.toContain('class="notice"');
    expect(broken).not.toContain('class="badge good"');
    expect(broken).toContain('class="notice"');
  });

  test('has a link to its disconnect page with a unique accessible name', () => {
    const entries = entriesOf([unused, { ...unused, disconnectHref: '/me/connections/2' }]);
    const links = entries.map(entry => /<a [^>]*id="([^"]*)" href="([^"]*)" aria-labelledby="([^"]*)"/.exec(entry));
    expect(links.map(link => link?.slice(1))).toEqual([
      ['disconnect-0', '/me/connections/0a.github', 'disconnect-0 connection-0'],
      ['disconnect-1', '/me/connections/2', 'disconnect-1 connection-1'],
    ]);
    entries.forEach((entry, index) => {
      expect(entry).toContain(`<h3 id="connection-${index}"`);
    });
  });

  test('collapses many permissions and omits none', () => {
    const scopes = Array.from({ length: 12 }, (_, index) => ({ scope: `scope-${index}` }));
    const [entry = ''] = entriesOf([{ ...unused, scopes }]);
    expect(/<details.*<\/details>/s.exec(entry)?.[0].match(/<code/g)).toHaveLength(12);
  });
});

test('accounts of a provider are grouped, sorted by name', () => {
  const named = (providerName: string, accountName?: string): ConnectionView => ({
    ...unused,
    providerName,
    ...(accountName === undefined ? {} : { accountName }),
  });
  const entries = entriesOf([named('Zoom'), named('GitHub', 'b'), named('éa'), named('GitHub', 'a'), named('GitHub')]);
  expect(entries.map(entry => [...entry.matchAll(/translate="no"><bdi>(.*?)<\/bdi>/g)].slice(0, 2)[0]?.[1])).toEqual([
    'éa',
    'GitHub',
    'GitHub',
    'GitHub',
    'Zoom',
  ]);
  const accounts = entries.map(entry => /class="detail" translate="no"><bdi>(.*?)<\/bdi>/.exec(entry)?.[1]);
  expect(accounts).toEqual([undefined, undefined, 'a', 'b', undefined]);
});
