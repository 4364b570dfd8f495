import { expect, test } from 'vitest';
import { notFoundPage } from './pages/refusal-pages.ts';
import { sampleContext } from './testing/sample-context.ts';
import type { Branding } from './views.ts';

const pageOf = (branding: Omit<Branding, 'name'>) =>
  notFoundPage({ ...sampleContext, branding: { name: 'Northwind', ...branding } });
const header = (page: string) => /<header[\s\S]*<\/header>/.exec(page)?.[0] ?? '';

test('a square logo stands beside the name, and a wide one replaces it', () => {
  const square = header(pageOf({ logo: { path: '/images/a.png', width: 64, height: 64 } }));
  expect(square).toMatch(/alt=""[^>]*>.*Northwind<\/bdi>/);
  const wide = header(pageOf({ logo: { path: '/images/a.png', darkPath: '/images/b.png', width: 400, height: 100 } }));
  expect(wide).toMatch(/srcset="\/images\/b\.png".*alt="Northwind"/);
  expect(wide).not.toContain('brand-name');
});

test('the page names its icon, and the browser shows the accent', () => {
  const page = pageOf({ iconPath: '/images/i.png', accent: '#aa0000', accentDark: '#ff8888' });
  expect(page).toContain('<link rel="icon" href="/images/i.png">');
  expect(page).toMatch(/theme-color" content="#aa0000" media="\(prefers-color-scheme: light\)"/);
  expect(page).toMatch(/theme-color" content="#ff8888" media="\(prefers-color-scheme: dark\)"/);
});

test('the footer has the configured links only', () => {
  expect(pageOf({})).not.toMatch(/<footer[^>]*>[\s\S]*rel="noreferrer"/);
  const page = pageOf({ privacyUrl: 'https://a.example/privacy', termsUrl: 'https://a.example/terms' });
  expect(page).toMatch(/https:\/\/a\.example\/privacy" rel="noreferrer"[\s\S]*https:\/\/a\.example\/terms"/);
  expect(() => pageOf({ privacyUrl: 'javascript:alert(1)' })).toThrow(TypeError);
});
