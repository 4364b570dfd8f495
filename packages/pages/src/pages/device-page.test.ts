import { expect, test } from 'vitest';
import { sampleDevice } from '../samples/sample-views.ts';
import { sampleContext } from '../testing/sample-context.ts';
import { devicePage } from './device-page.ts';

test('has the reading order MCP server, explanation, warning, code, link, buttons', () => {
  const markup = devicePage(sampleContext, { ...sampleDevice, notice: 'not_yet' });
  const order = [
    'class="notice"',
    '<h1>',
    'class="asker-name"',
    'class="safety"',
    '<bdi>WDJB-MJHT</bdi>',
    'href="https://music.fabrikam.example/device" target="_blank" rel="noopener noreferrer"',
    '<bdi>Ada Okafor</bdi>',
    'href="/e/0a.sample"',
    'action="/e/0a.sample/device"',
    'datetime="2026-03-04T14:32:00.000Z">',
  ].map(piece => markup.indexOf(piece));
  expect(order).not.toContain(-1);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
});

test('shows the host in punycode, which reveals look-alike letters', () => {
  const verificationHref = 'https://аррӏе.com/activate';
  const markup = devicePage(sampleContext, { ...sampleDevice, verificationHref });
  expect(markup).toContain('<bdi>xn--80ak6aa92e.com</bdi>');
  expect(markup).not.toContain('аррӏе');
});

test.each(['javascript:alert(1)', 'mailto:a@b.example', '/device', 'https://user@tv.example/', 'no address'])(
  'leads to no %s',
  verificationHref => {
    expect(() => devicePage(sampleContext, { ...sampleDevice, verificationHref })).toThrow(TypeError);
  },
);
