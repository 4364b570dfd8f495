import { describe, expect, test } from 'vitest';
import { sampleAuthorization, sampleConnect } from '../samples/sample-views.ts';
import { expectOrder } from '../testing/page-assertions.ts';
import { sampleContext } from '../testing/sample-context.ts';
import type { RequestedScopeView } from '../views.ts';
import { connectPage } from './connect-page.ts';

const connectedAt = new Date('2026-01-07T23:30:00Z');
const asking = (scopes: readonly RequestedScopeView[]) =>
  connectPage(sampleContext, {
    ...sampleConnect,
    authorization: { ...sampleAuthorization, scopes, reconnect: { reason: 'more_scopes', connectedAt } },
  });
const known = (count: number) => Array.from({ length: count }, (_, index) => ({ scope: `known-${index}` }));

describe('new permissions', () => {
  test('are shown before the granted ones, under a separate heading', () => {
    const markup = asking([...known(2), { scope: 'fresh-0', isNew: true }]);
    const pieces = ['id="fresh-heading"', 'fresh-0', 'id="known-heading"', 'known-0', 'known-1', 'class="quoted"'];
    const order = pieces.map(piece => markup.indexOf(piece));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('are not marked as new if all of them are new, or none', () => {
    for (const isNew of [true, false]) {
      const markup = asking(known(3).map(scope => ({ ...scope, isNew })));
      expect(markup).toContain('known-2');
      expect(markup).not.toContain('known-heading');
    }
  });
});

describe('permissions are grouped by risk', () => {
  const folded = (markup: string) => /<details class="fold">(.*?)<\/details>/s.exec(markup)?.[1] ?? '';
  const of = (access: 'see' | 'change' | 'delete', count: number) =>
    Array.from({ length: count }, (_, index) => ({ scope: `${access}-${index}`, access }));

  test('the worst first; an unknown one is under a heading that claims nothing', () => {
    const markup = asking([...of('see', 1), { scope: 'openid' }, { scope: 'unknown' }, ...of('delete', 1)]);
    expect(markup).not.toContain('id="asked-change"');
    expectOrder(markup, [
      'id="asked-delete"',
      'delete-0',
      'id="asked-other"',
      'unknown',
      'id="asked-see"',
      'see-0',
      'recognise your account',
    ]);
  });

  test('the first view has the count of every risk, if the list may need scrolling', () => {
    const glance = /<ul class="glance".*?<\/ul>/s.exec(
      asking([...of('see', 4), ...of('change', 3), ...of('delete', 2)]),
    )?.[0];
    expect(
      [...(glance ?? '').matchAll(/<li class="risk-(.*?)">.*?<span>(.*?)<\/span>/g)].map(match => match.slice(1)),
    ).toEqual([
      ['delete', 'Delete: 2'],
      ['change', 'Change: 3'],
      ['see', 'See: 4'],
    ]);
    const short = connectPage(sampleContext, {
      ...sampleConnect,
      authorization: { ...sampleAuthorization, scopes: of('see', 3) },
    });
    expect(short).not.toContain('class="glance"');
  });

  test('only permissions to see are folded: new ones after six, granted ones as soon as there are new ones', () => {
    for (const access of ['change', 'delete'] as const) expect(folded(asking(of(access, 40)))).toBe('');
    expect(folded(asking(of('see', 6)))).toBe('');
    const markup = asking([...of('see', 9), ...of('change', 9), ...of('delete', 9)]);
    expect(folded(markup).match(/<li /g)).toHaveLength(4);
    expect(folded(markup)).not.toMatch(/(?:change|delete)-\d/);
    const granted = asking([...of('see', 2), ...of('delete', 9), { scope: 'fresh', access: 'see', isNew: true }]);
    expect(folded(granted).match(/<li /g)).toHaveLength(2);
    expect(folded(granted)).not.toMatch(/delete-\d|fresh/);
  });
});

test.each(['refused', 'rejected', 'expired', 'more_scopes'] as const)('show the date of the connection: %s', reason => {
  const markup = connectPage(sampleContext, {
    ...sampleConnect,
    authorization: { ...sampleAuthorization, reconnect: { reason, connectedAt } },
  });
  expect(markup).toMatch(/<div class="lead"><p>.*datetime="2026-01-07T23:30:00.000Z">January 7, 2026<\/time>/);
  expect(connectPage(sampleContext, sampleConnect)).not.toContain('class="lead"');
});

test('S85: shows the host of the resource, and the host at which the user continues', () => {
  const shown = (resourceHost?: string) =>
    connectPage(sampleContext, {
      ...sampleConnect,
      authorization: { ...sampleAuthorization, ...(resourceHost === undefined ? {} : { resourceHost }) },
    });
  expect(shown('tools.evil.example')).toMatch(/<bdi>tools\.evil\.example<.*<bdi>github\.com</s);
  expect(shown()).not.toContain('tools.evil.example');
  expect(() => shown('Tools.Evil.example')).toThrow(TypeError);
});

describe('permissions that were not granted', () => {
  const missing = [{ scope: 'write' }];

  test('are named above the others', () => {
    const markup = connectPage(sampleContext, { ...sampleConnect, notice: 'fewer_scopes', missing });
    expectOrder(markup, ['class="notice"', '<section class="missing"', '<bdi>write</bdi>', 'id="asked-change"']);
  });

  test('belong to no other notice', () => {
    const markup = connectPage(sampleContext, { ...sampleConnect, notice: 'scopes_changed', missing });
    expect(markup).not.toContain('<bdi>write</bdi>');
  });

  test('need no list', () => {
    const markup = connectPage(sampleContext, { ...sampleConnect, notice: 'fewer_scopes' });
    expect(markup).toContain('class="notice"');
    expect(markup).not.toContain('class="missing"');
  });
});

test('only the accepting form returns the digest of the page', () => {
  const markup = connectPage(sampleContext, { ...sampleConnect, shown: 'a"b' });
  const forms = [...markup.matchAll(/<form [^>]*action="([^"]*)".*?<\/form>/g)];
  const withShown = forms.filter(([form]) => form.includes('name="shown" value="a&#34;b"')).map(([, action]) => action);
  expect(withShown).toEqual([sampleConnect.acceptAction]);
  expect(connectPage(sampleContext, sampleConnect)).not.toContain('name="shown"');
});
