import { describe, expect, test } from 'vitest';
import { sampleAuthorization, sampleConnect, sampleContext } from '../sample-views.ts';
import type { RequestedScopeView } from '../views.ts';
import { connectPage } from './connect-page.ts';

const connectedAt = new Date('2026-01-07T23:30:00Z');
const asking = (scopes: readonly RequestedScopeView[]) =>
  connectPage(sampleContext, {
    ...sampleConnect,
    authorization: { ...sampleAuthorization, scopes, reconnect: { reason: 'more_scopes', connectedAt } },
  });
const known = (count: number) => Array.from({ length: count }, (_, index) => ({ scope: `known-${index}` }));

describe('what is new', () => {
  test('stands before what was agreed to, under a heading of its own', () => {
    const markup = asking([...known(2), { scope: 'fresh-0', isNew: true }]);
    const pieces = ['permissions-heading', 'fresh-0', 'known-heading', 'known-0', 'known-1', 'class="quoted"'];
    const order = pieces.map(piece => markup.indexOf(`${piece}`));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('is not told apart where everything is new, or nothing', () => {
    for (const isNew of [true, false]) {
      const markup = asking(known(3).map(scope => ({ ...scope, isNew })));
      expect(markup).toContain('known-2');
      expect(markup).not.toContain('known-heading');
    }
  });

  test('is never folded up, however long; what was agreed to is', () => {
    const fresh = known(9).map(({ scope }) => ({ scope: `fresh-${scope}`, isNew: true }));
    const markup = asking([...known(5), ...fresh]);
    const [, folded = ''] = /<details[^>]*>(.*?)<\/details>/s.exec(markup) ?? [];
    expect(folded.match(/<li>/g)).toHaveLength(5);
    expect(folded).not.toContain('fresh-');
    expect(asking([...known(4), ...fresh])).not.toContain('<details');
  });
});

test.each(['refused', 'rejected', 'expired', 'more_scopes'] as const)('says when it was connected: %s', reason => {
  const markup = connectPage(sampleContext, {
    ...sampleConnect,
    authorization: { ...sampleAuthorization, reconnect: { reason, connectedAt } },
  });
  expect(markup).toMatch(/<div class="lead"><p>.*<time datetime="2026-01-07T23:30:00.000Z">January 7, 2026<\/time>/);
  expect(connectPage(sampleContext, sampleConnect)).not.toContain('class="lead"');
});

describe('permissions that were not given', () => {
  const missing = [{ scope: 'write' }];

  test('are named in the notice', () => {
    const markup = connectPage(sampleContext, { ...sampleConnect, notice: 'fewer_scopes', missing });
    expect(/<div class="notice">.*?<\/div>/s.exec(markup)?.[0]).toContain('<bdi>write</bdi>');
  });

  test('belong to no other notice', () => {
    const markup = connectPage(sampleContext, { ...sampleConnect, notice: 'scopes_changed', missing });
    expect(markup).not.toContain('<bdi>write</bdi>');
  });

  test('need no list', () => {
    const markup = connectPage(sampleContext, { ...sampleConnect, notice: 'fewer_scopes' });
    expect(/<div class="notice">.*?<\/div>/s.exec(markup)?.[0]).not.toContain('<ul');
  });
});

test('what was shown comes back with agreement only', () => {
  const markup = connectPage(sampleContext, { ...sampleConnect, shown: 'a"b' });
  const forms = [...markup.matchAll(/<form [^>]*action="([^"]*)".*?<\/form>/g)];
  const withShown = forms.filter(([form]) => form.includes('name="shown" value="a&#34;b"')).map(([, action]) => action);
  expect(withShown).toEqual([sampleConnect.acceptAction]);
  expect(connectPage(sampleContext, sampleConnect)).not.toContain('name="shown"');
});
