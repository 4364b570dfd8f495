import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatUrl, inspectUrl, printable, printableLines } from './show-url.ts';

const codesOf = (text: string) => inspectUrl(text)?.warnings.map(({ code }) => code);

describe('inspectUrl', () => {
  test.each([
    ['https://gate.example.com/e/1?a=b#c', 'https://', 'gate.example.com', '/e/1?a=b#c'],
    ['https://gate.example.com:8443', 'https://', 'gate.example.com:8443', '/'],
    ['http://localhost:4400/e/1', 'http://', 'localhost:4400', '/e/1'],
    ['http://[::1]:4400/e/1', 'http://', '[::1]:4400', '/e/1'],
    ['https://github.com@evil.example/github.com', 'https://github.com@', 'evil.example', '/github.com'],
    ['https://github.com:x@evil.example/', 'https://github.com:x@', 'evil.example', '/'],
    ['https://:x@evil.example/a@b', 'https://:x@', 'evil.example', '/a@b'],
    ['https://evil.example\\@github.com/', 'https://', 'evil.example', '/@github.com/'],
  ])('finds the host in %s', (text, ...parts) => {
    expect(inspectUrl(text)?.parts).toEqual(parts);
  });

  test.each(['javascript:alert(1)', 'file:///etc/passwd', 'vscode://x/y', 'data:text/html,x', 'gate.example.com', ''])(
    'does not offer to open %j',
    text => {
      expect(inspectUrl(text)).toBeUndefined();
    },
  );

  test.each([
    ['https://gate.example.com/e/1', []],
    ['http://localhost:4400/e/1', []],
    ['http://127.0.0.1:4400/e/1', []],
    ['http://[::1]/', []],
    ['http://gate.example.com/e/1', ['not_encrypted']],
    ['http://localhost.example.com/', ['not_encrypted']],
    ['https://gіthub.com/', ['internationalized_domain']],
    ['https://xn--gthub-n4a.com/', ['internationalized_domain']],
    ['https://login.xn--gthub-n4a.com/', ['internationalized_domain']],
    ['https://203.0.113.9/', ['ip_address']],
    ['https://[2001:db8::1]/', ['ip_address']],
    ['https://0x7f.1/', []],
    ['https://github.com@evil.example/', ['user_name']],
    ['http://github.com@203.0.113.9/', ['not_encrypted', 'ip_address', 'user_name']],
  ])('warns about %s as it should', (text, codes) => {
    expect(codesOf(text)).toEqual(codes);
  });

  test('names an internationalized domain in both spellings', () => {
    const shown = inspectUrl('https://gіthub.com/');
    expect(shown?.parts[1]).toMatch(/^xn--/);
    expect(shown?.warnings).toEqual([{ code: 'internationalized_domain', unicode: 'gіthub.com' }]);
  });

  test('the three pieces are the whole address, and the middle one is its host', () => {
    fc.assert(
      fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), fc.string(), (address, user) => {
        const url = new URL(address);
        url.username = user;
        const shown = inspectUrl(url.href);
        expect(shown?.parts.join('')).toBe(url.href);
        expect(shown?.parts[1]).toBe(url.host);
      }),
    );
  });
});

describe('formatUrl', () => {
  const shown = inspectUrl('http://gate.example.com/e/1?to=https://github.com');
  if (shown === undefined) throw new TypeError('not a web address');

  test('without colour there is no escape sequence', () => {
    expect(formatUrl(shown, { colour: false }).split('\n')).toEqual([
      '  Domain:   gate.example.com',
      '  Address:  http://gate.example.com/e/1?to=https://github.com',
      expect.stringMatching(/^ {2}Careful: /),
    ]);
  });

  test('with colour only the host is marked', () => {
    const marked = '\u001b[1;7mgate.example.com\u001b[0m';
    const text = formatUrl(shown, { colour: true });
    expect(text.split(marked)).toHaveLength(3);
    expect(text.replaceAll(marked, '')).not.toContain('\u001b');
  });

  test('nothing an address contains reaches the terminal as a control character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (user, path) => {
        const hostile = inspectUrl(`https://${encodeURIComponent(user.toWellFormed())}@example.com/${path}`);
        fc.pre(hostile !== undefined);
        for (const line of formatUrl(hostile, { colour: false }).split('\n'))
          expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      }),
    );
  });
});

test('text of others stays on its line and moves nothing', () => {
  expect(printable('a\u001b[2Jb\r\nc\u202ed\u200b\u0007 ')).toBe('a[2Jb cd');
  expect(printableLines('a\u001b[2J\n\u202eb\r\nc')).toBe('a[2J\nb\nc');
});
