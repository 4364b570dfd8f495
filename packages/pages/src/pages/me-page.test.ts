import { describe, expect, test } from 'vitest';
import type { WaitingAbout } from '../me-entries.ts';
import { belowMe, sampleConnection, sampleMe } from '../samples/sample-views.ts';
import { sampleContext } from '../testing/sample-context.ts';
import { type ConnectionView, type MeView, mePage } from './me-page.ts';

const nothing = { waiting: [], connections: [], credentials: [], passkeys: [], ...belowMe };
const entriesOf = (connections: readonly ConnectionView[], rest: Partial<MeView> = {}) => {
  const markup = mePage(sampleContext, { ...nothing, ...rest, connections });
  return [...markup.matchAll(/<li class="entry row-item"><details(.*?)<\/details><\/li>/gs)].map(
    ([, entry = '']) => entry,
  );
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
  expect(markup).not.toMatch(/<details|href="\/e\/|<form/);
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
    expect(claimed).toMatch(
      /<summary>.*<time data-style="date" datetime="2026-03-04T14:20:00.000Z">Mar 4, 2026<\/time>.*<\/summary>/s,
    );
  });

  test.each(['refused', 'rejected', 'expired'] as const)('that is %s is marked as not working', lost => {
    const [works = '', broken = ''] = [...entriesOf([unused]), ...entriesOf([{ ...unused, lost }])];
    expect(works).not.toMatch(/class="(?:notice|lost)"/);
    expect(broken).toContain('class="notice"');
    expect(broken).toContain('class="lost"');
    const markup = mePage(sampleContext, { ...nothing, connections: [unused, { ...unused, lost }] });
    expect(markup.match(/href="\/me#connection-\d"/g)).toEqual(['href="/me#connection-1"']);
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
  const accounts = entries.map(entry => /class="row-note"><span translate="no"><bdi>(.*?)<\/bdi>/.exec(entry)?.[1]);
  expect(accounts).toEqual([undefined, undefined, 'a', 'b', undefined]);
});

describe('what an open elicitation asks for', () => {
  const noteOf = (about: WaitingAbout) => {
    const [waiting] = sampleMe.waiting;
    if (waiting === undefined) throw new Error('no sample');
    const markup = mePage(sampleContext, { ...nothing, waiting: [{ ...waiting, about }] });
    return /href="\/e\/0a.sample">(.*?)<\/a>/s.exec(markup)?.[1] ?? '';
  };

  test.each([
    [{ kind: 'authorization', providerName: 'GitHub', permissions: 3 }, ['GitHub', '3']],
    [
      { kind: 'payment', amount: { currency: 'EUR', minorUnits: 4990, decimals: 2 }, payeeName: 'Coffee & Co' },
      ['49.90', 'Coffee &#38; Co'],
    ],
    [{ kind: 'confirmation', title: 'Delete it' }, ['Delete it']],
    [{ kind: 'credential', title: 'API key' }, ['API key']],
    [{ kind: 'form', title: 'Address' }, ['Address']],
  ] satisfies [WaitingAbout, string[]][])('%o', (about, values) => {
    const note = noteOf(about);
    for (const value of values) expect(note).toContain(value);
  });

  test('a title is marked as a text of the MCP server', () => {
    expect(noteOf({ kind: 'form', title: 'Postern says: all is well' })).toMatch(
      /<bdi>Release Notes<\/bdi> writes: “<bdi>Postern says: all is well<\/bdi>”/,
    );
    expect(noteOf({ kind: 'form' })).not.toContain('writes');
  });
});
