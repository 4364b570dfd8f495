import { html } from '@postern/pages/html';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { field, filter, type List, listPage, noMatch, unlessEmpty } from './section.ts';

const HOSTILE = '"><svg/onload=zz>';

interface Item {
  readonly name: string;
  readonly size: number;
  readonly note?: string;
}

const query = z.object({
  mcpServer: field.name,
  size: unlessEmpty(z.enum(['big', 'small'])),
  since: field.name,
  cursor: z.string().optional(),
});

const things: List<z.infer<typeof query>, Item> = {
  at: '/jobs',
  query,
  filters: [
    filter.mcpServer,
    { name: 'size', label: 'Size', any: 'any size', choices: () => ['big', { value: 'small', text: 'tiny' }] },
    { name: 'since', label: 'Since', type: 'date' },
  ],
  read: async () => ({ items: [] }),
  caption: 'Things',
  columns: () => [
    { name: 'Name', cell: ({ name }) => name },
    { name: 'Size', isNumber: true, cell: ({ size }) => size },
    { name: 'Note', cell: ({ note }) => note },
  ],
  acts: ({ size }) => (size > 1 ? html`Shrink` : undefined),
  actsOnAll: () => html`<p>Shrink all</p>`,
  empty: noMatch('No thing'),
};

const configured = { mcpServers: ['tracker', HOSTILE], providers: [], issuers: [] };

function shown(p: {
  readonly role?: 'viewer' | 'operator';
  readonly items?: readonly Item[];
  readonly query?: Record<string, string>;
  readonly next?: string;
}): string {
  const { role = 'viewer', items = [], next } = p;
  const page = { stylesheetPath: '/a.css', name: 'Vera', role, csrfToken: 'token' };
  const text = listPage(page, things, configured, { query: query.parse(p.query ?? {}), items, next });
  return text.slice(text.indexOf('<main'));
}

const rowsIn = (page: string) =>
  [...page.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
  );

describe('S138: a list is what its table says', () => {
  test('a row for each item: text is escaped, numbers have their thousands apart, and nothing is a dash', () => {
    const page = shown({
      items: [
        { name: HOSTILE, size: 1234, note: 'x' },
        { name: 'b', size: 1 },
      ],
    });
    expect(page).not.toContain('<svg');
    expect(rowsIn(page)).toEqual([
      ['Name', 'Size', 'Note'],
      ['&#34;&#62;&#60;svg/onload=zz&#62;', '1,234', 'x'],
      ['b', '1', '–'],
    ]);
    expect(page.match(/class="number"/g)).toHaveLength(3);
    expect(page).toContain('aria-label="Things"');
  });

  test('only operators see acts, and none on all of nothing', () => {
    const items = [
      { name: 'a', size: 2 },
      { name: 'b', size: 1 },
    ];
    expect(shown({ items })).not.toContain('Shrink');
    const page = shown({ items, role: 'operator' });
    expect(rowsIn(page).map(row => row.at(-1))).toEqual(['Act', 'Shrink', '–']);
    expect(page).toContain('Shrink all');
    expect(shown({ role: 'operator' })).not.toContain('Shrink');
  });

  test('the form has the filters of the link, and its choices are those of the configuration', () => {
    const page = shown({ query: { mcpServer: 'tracker', size: 'small', since: '2026-01-01' } });
    const chosen = [...page.matchAll(/<option value="([^"]*)" selected>([^<]*)</g)].map(([, ...of]) => of);
    expect(chosen).toEqual([
      ['tracker', 'tracker'],
      ['small', 'tiny'],
    ]);
    expect(page).toContain('<option value="">any size</option>');
    expect(page).toContain('<input type="date" name="since" value="2026-01-01">');
    expect(page).toContain('method="get" action="/jobs"');
    expect(page.match(/<option/g)).toHaveLength(6);
  });

  test('links lead to the first and the next page, with the same filters', () => {
    const hrefs = (page: string) => [...page.matchAll(/href="(\/jobs[^"]*)"/g)].map(([, href]) => href);
    expect(hrefs(shown({ query: { size: 'big' } }))).toEqual([]);
    expect(hrefs(shown({ query: { size: 'big', cursor: '1.a' }, next: '2.b' }))).toEqual([
      '/jobs?size=big',
      '/jobs?size=big&#38;cursor=2.b',
    ]);
  });

  test('an empty page says whether there are more', () => {
    expect(shown({})).toContain('No thing matches.');
    expect(shown({ next: '1.a' })).toContain('No thing on this page matches. There are more pages.');
  });
});
