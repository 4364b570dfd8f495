import { describe, expect, test } from 'vitest';
import { sampleAuthorization, sampleConnect, sampleContext } from '../testing/sample-views.ts';
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
    const pieces = ['permissions-heading', 'fresh-0', 'known-heading', 'known-0', 'known-1', 'class="quoted"'];
    const order = pieces.map(piece => markup.indexOf(`${piece}`));
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

  test('are never collapsed, however many; granted ones are', () => {
    const fresh = known(9).map(({ scope }) => ({ scope: `fresh-${scope}`, isNew: true }));
    const markup = asking([...known(5), ...fresh]);
    const [, folded = ''] = /<details[^>]*>(.*?)<\/details>/s.exec(markup) ?? [];
    expect(folded.match(/<li>/g)).toHaveLength(5);
    expect(folded).not.toContain('fresh-');
    expect(asking([...known(4), ...fresh])).not.toContain('<details');
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

test('only the accepting form returns the digest of the page', () => {
  const markup = connectPage(sampleContext, { ...sampleConnect, shown: 'a"b' });
  const forms = [...markup.matchAll(/<form [^>]*action="([^"]*)".*?<\/form>/g)];
  const withShown = forms.filter(([form]) => form.includes('name="shown" value="a&#34;b"')).map(([, action]) => action);
  expect(withShown).toEqual([sampleConnect.acceptAction]);
  expect(connectPage(sampleContext, sampleConnect)).not.toContain('name="shown"');
});
