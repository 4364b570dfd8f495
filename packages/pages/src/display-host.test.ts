import { expect, test } from 'vitest';
import { displayHost, isDisplayHost } from './display-host.ts';

test.each([
  ['https://github.com/login', 'github.com'],
  ['https://GitHub.com:443/', 'github.com'],
  ['http://127.0.0.1:8080/', '127.0.0.1:8080'],
  ['http://[::1]:3000/', '[::1]:3000'],
  ['https://аррӏе.com/', 'xn--80ak6aa92e.com'],
  ['https://bücher.example/', 'xn--bcher-kva.example'],
  ['https://github.com@evil.example/', 'evil.example'],
  ['https://ｇｉｔｈｕｂ.com/', 'github.com'],
])('%s', (href, expected) => {
  const host = displayHost(new URL(href));
  expect(host).toBe(expected);
  expect(isDisplayHost(host)).toBe(true);
});

test('an address without a web host is refused', () => {
  expect(() => displayHost(new URL('javascript:alert(1)'))).toThrow(TypeError);
  expect(() => displayHost(new URL('custom://ÄÖ/'))).toThrow(TypeError);
});

test.each(['аррӏе.com', 'GitHub.com', 'github.com/x', 'a b', 'github.com\u202e', 'user@github.com', '', 'a.example:x'])(
  'not in the form shown to people: %j',
  host => {
    expect(isDisplayHost(host)).toBe(false);
  },
);
