import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inspectUrl, MAX_URL_LENGTH } from './inspect-url.ts';

const codesOf = (text: string) => inspectUrl(text)?.warnings.map(({ code }) => code);

describe('inspectUrl', () => {
  test.each([
    ['https://gate.example.com/e/1?a=b#c', 'https://gate.', 'example.com', '/e/1?a=b#c'],
    ['https://a.b.example.co.uk:8443', 'https://a.b.', 'example.co.uk', ':8443/'],
    ['https://alice.github.io/x', 'https://', 'alice.github.io', '/x'],
    ['https://github.com.evil.example/', 'https://github.com.', 'evil.example', '/'],
    ['https://evil.example.evil.example/', 'https://evil.example.', 'evil.example', '/'],
    ['http://localhost:4400/e/1', 'http://', 'localhost', ':4400/e/1'],
    ['http://[::1]:4400/e/1', 'http://', '[::1]', ':4400/e/1'],
    ['https://intranet/', 'https://', 'intranet', '/'],
    ['https://github.com@evil.example/github.com', 'https://github.com@', 'evil.example', '/github.com'],
    ['https://github.com:x@evil.example/', 'https://github.com:x@', 'evil.example', '/'],
    ['https://:x@evil.example/a@b', 'https://:x@', 'evil.example', '/a@b'],
    ['https://evil.example\\@github.com/', 'https://', 'evil.example', '/@github.com/'],
    ['https://gate.example.com./', 'https://gate.', 'example.com', './'],
  ])('finds the registrable domain of %s', (text, ...parts) => {
    expect(inspectUrl(text)?.parts).toEqual(parts);
    expect(inspectUrl(text)?.domain).toBe(parts[1]);
  });

  test.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'vscode://x/y',
    'data:text/html,x',
    'gate.example.com',
    '',
    '--version',
    `https://example.com/${'a'.repeat(MAX_URL_LENGTH)}`,
  ])('refuses to open %.40j', text => {
    expect(inspectUrl(text)).toBeUndefined();
  });

  test.each([
    ['https://gate.example.com/e/1', []],
    ['http://localhost:4400/e/1', []],
    ['http://gate.localhost:4400/e/1', []],
    ['http://127.0.0.1:4400/e/1', []],
    ['http://[::1]/', []],
    ['http://gate.example.com/e/1', ['not_encrypted']],
    ['http://localhost.example.com/', ['not_encrypted']],
    ['https://bücher.example/', ['internationalized_domain']],
    ['https://日本語テスト.example/', ['internationalized_domain']],
    ['https://gіthub.com/', ['mixed_scripts']],
    ['https://login.xn--gthub-n4a.com/', ['internationalized_domain']],
    ['https://аррӏе.com/', ['internationalized_domain']],
    ['https://203.0.113.9/', ['ip_address']],
    ['https://3405803785/', ['ip_address']],
    ['https://[2001:db8::1]/', ['ip_address']],
    ['https://github.com@evil.example/', ['user_info']],
    ['https://:secret@evil.example/', ['user_info']],
    ['https://gate.example.com:8443/', ['unusual_port']],
    ['https://gate.example.com:443/', []],
    ['http://github.com@203.0.113.9:81/', ['not_encrypted', 'ip_address', 'user_info', 'unusual_port']],
  ])('gives %s its warnings', (text, codes) => {
    expect(codesOf(text)).toEqual(codes);
  });

  test('returns both forms of an internationalized domain', () => {
    const shown = inspectUrl('https://gіthub.com/');
    expect(shown?.host).toMatch(/^xn--/);
    expect(shown?.warnings).toEqual([{ code: 'mixed_scripts', unicode: 'gіthub.com' }]);
  });

  test('splits the whole URL into three parts, with the domain in the host', () => {
    fc.assert(
      fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), fc.string(), (address, user) => {
        const url = new URL(address);
        url.username = user;
        const shown = inspectUrl(url.href);
        fc.pre(shown !== undefined);
        expect(shown.parts.join('')).toBe(url.href);
        expect(url.hostname).toContain(shown.parts[1]);
        expect(new URL(`${shown.parts[0]}x.invalid${shown.parts[2]}`).hostname).toMatch(/x\.invalid\.?$/);
      }),
    );
  });

  test('returns a hostile URL as plain ASCII or refuses it', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 20 }),
        fc.string({ unit: 'binary', maxLength: 20 }),
        (host, path) => {
          for (const text of [`https://${host}/${path}`, `https://${host}@example.com/${path}`, `${host}${path}`]) {
            const shown = inspectUrl(text);
            if (shown !== undefined) expect(shown.parts.join('')).toMatch(/^https?:\/\/[\x21-\x7e]+$/);
          }
        },
      ),
    );
  });
});
