import { describe, expect, test } from 'vitest';
import { placeholderValueFault } from './placeholder-value.ts';
import type { Placeholder } from './preset.ts';

const host: Placeholder = { kind: 'host', port: false, help: 'h', example: 'acme.okta.com' };
const hostWithPort: Placeholder = { ...host, port: true };
const slug: Placeholder = { kind: 'slug', help: 'h', example: 'acme' };
const uuid: Placeholder = { kind: 'uuid', help: 'h', example: '11111111-2222-4333-8444-555555555555' };
const choice: Placeholder = { kind: 'choice', choices: ['common', 'consumers'], help: 'h', example: 'common' };

describe('what is taken', () => {
  test.each([
    [host, 'acme.okta.com'],
    [host, 'ACME.okta.com'],
    [host, 'xn--bcher-kva.example'],
    [hostWithPort, 'id.acme.example:8443'],
    [slug, 'acme-2'],
    [slug, 'my_realm'],
    [uuid, '11111111-2222-4333-8444-555555555555'],
    [choice, 'consumers'],
  ])('%j takes %s', (placeholder, value) => {
    expect(placeholderValueFault(placeholder, value)).toBeUndefined();
  });
});

const smuggled = [
  '',
  ' ',
  'acme.okta.com/evil',
  'acme.okta.com/../x',
  'acme.okta.com?x',
  'acme.okta.com#x',
  'evil.example#acme.okta.com',
  'user@acme.okta.com',
  'user:password@evil.example',
  'https://acme.okta.com',
  '//acme.okta.com',
  'acme.okta.com\\evil.example',
  'acme.okta.com%2fevil',
  'acme.okta.com\n',
  'acme.okta.com\tx',
  'acme..okta.com',
  '.acme.okta.com',
  'acme.okta.com.',
  '-acme.okta.com',
  'acme．okta.com',
  'аcme.okta.com',
  '127.0.0.1',
  '0x7f.1',
  '2130706433',
  '[::1]',
  '{clientId}',
  '*.okta.com',
  '..',
];

describe('what would lead elsewhere', () => {
  test.each(smuggled)('no host: %j', value => {
    expect(placeholderValueFault(host, value)).toBeTypeOf('string');
    expect(placeholderValueFault(hostWithPort, value)).toBeTypeOf('string');
  });

  test.each([...smuggled, 'acme.okta', 'acme/evil', 'acme.evil.example', 'acme:443'])('no slug: %j', value => {
    if (value === '2130706433') return expect(placeholderValueFault(slug, value)).toBeUndefined();
    expect(placeholderValueFault(slug, value)).toBeTypeOf('string');
  });

  test.each(['acme.example:', 'acme.example:0', 'acme.example:65536', 'acme.example:443:443', 'acme.example:4 4'])(
    'no port: %j',
    value => {
      expect(placeholderValueFault(hostWithPort, value)).toBeTypeOf('string');
    },
  );

  test('a port only where it is allowed', () => {
    expect(placeholderValueFault(host, 'acme.example:8443')).toBeTypeOf('string');
  });

  test('a host of another domain', () => {
    const within: Placeholder = { ...host, within: ['salesforce.com'] };
    expect(placeholderValueFault(within, 'acme.my.salesforce.com')).toBeUndefined();
    expect(placeholderValueFault(within, 'Login.Salesforce.com')).toBeUndefined();
    for (const value of ['salesforce.com.evil.example', 'evilsalesforce.com', 'evil.example']) {
      expect(placeholderValueFault(within, value)).toBeTypeOf('string');
    }
  });

  test('a choice that is not offered', () => {
    expect(placeholderValueFault(choice, 'organizations')).toBeTypeOf('string');
  });

  test('a tenant by name', () => {
    expect(placeholderValueFault(uuid, 'common')).toBeTypeOf('string');
  });
});

test('whatever is taken stays in the host it was taken for', () => {
  const hostile = [...'aZ0-._:/\\?#@%[]{}*&=;,|^"\'<> \n\t\0é．。'];
  const insertions = ['', ...hostile, ...hostile.flatMap(first => hostile.map(second => first + second))];
  let taken = 0;
  for (const insertion of insertions) {
    for (const position of [0, 2, 4, 5, 8]) {
      const value = `acme${position > 4 ? '.app' : ''}`.slice(0, position) + insertion + 'acme.app'.slice(position);
      if (placeholderValueFault(hostWithPort, value) === undefined) {
        const url = new URL(`https://${value}/realms/x`);
        expect([url.host, `${url.host}:443`]).toContain(value.toLowerCase());
        expect(url.href).toBe(`https://${url.host}/realms/x`);
        taken += 1;
      }
      const segment = 'acme'.slice(0, position) + insertion + 'acme'.slice(position);
      if (placeholderValueFault(slug, segment) === undefined) {
        expect(new URL(`https://id.example/${segment}/x`).href).toBe(`https://id.example/${segment}/x`);
        expect(new URL(`https://${segment}.example/x`).host).toBe(`${segment.toLowerCase()}.example`);
        taken += 1;
      }
    }
  }
  expect(taken).toBeGreaterThan(50);
});
