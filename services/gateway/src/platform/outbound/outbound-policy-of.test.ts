import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, describe, expect, it, test } from 'vitest';
import { sampleConfig } from '../../testing/sample-config.ts';
import { parseConfig } from '../config/load-config.ts';
import { configuredHosts, configuredHostsOf, outboundPolicyOf } from './outbound-policy-of.ts';

const directory = mkdtempSync(join(tmpdir(), 'postern-outbound-'));
afterAll(() => rmSync(directory, { recursive: true }));

function policyOf(outbound: object) {
  return outboundPolicyOf(parseConfig(sampleConfig({ outbound })));
}
function written(text: string): string {
  const path = join(directory, `file-${text.length}`);
  writeFileSync(path, text);
  return path;
}

describe('S79: outbound.caFile and outbound.proxy', () => {
  it('become part of the outbound policy', () => {
    const [certificate = ''] = rootCertificates;
    const proxy = 'http://user:secret@proxy.internal:3128';
    expect(policyOf({ caFile: written(certificate), proxy })).toMatchObject({ ca: certificate, proxy });
    expect(policyOf({})).toEqual({ allowLoopback: expect.any(Boolean), privateHosts: [] });
  });

  it.each([
    ['that does not exist', join(directory, 'none'), / cannot be read$/],
    ['without a certificate', written('no PEM'), / has no certificate in PEM$/],
  ])('fail with the path of a file %s', (_, caFile, message) => {
    const refused = expect.objectContaining({
      faults: [{ path: 'outbound.caFile', message: expect.stringMatching(message) }],
    });
    expect(() => policyOf({ caFile })).toThrow(refused);
  });

  it.each(['proxy:3128', 'socks5://proxy:1080', 'http://proxy:3128/path', 'http://proxy?x'])(
    'refuse %s as proxy',
    proxy => {
      expect(() => policyOf({ proxy })).toThrow(/outbound\.proxy/);
    },
  );
});

test('the host of each configured server may have a port, also that of the identity provider of the console', () => {
  const identityProvider = { issuer: 'https://operators.example:8444', clientId: 'console', clientSecret: 'secret' };
  const console = { publicUrl: 'https://console.example', listen: { port: 8090 }, identityProvider };
  const roles = { claim: 'groups', operator: ['staff'] };
  const config = parseConfig(sampleConfig({ console: { ...console, roles } }));
  expect(configuredHostsOf(config)).toContain('operators.example:8444');
  expect(configuredHostsOf(parseConfig(sampleConfig()))).not.toContain('operators.example:8444');
});

test('configuredHosts finds each host with a port other than 443 once, anywhere in the configuration', () => {
  const parts = [
    { issuer: 'https://id.example:8443', accessTokens: { jwksUri: 'https://keys.example:9443/jwks' } },
    { issuer: 'https://id.example:8443/tenant', tokenEndpoint: 'https://id.example/token', scopes: { 'a:1': 'text' } },
    [['https://[2001:db8::1]:444/x', 'http://plain.example:81', 'https://', 7, null]],
  ];
  expect(configuredHosts(parts)).toEqual(['id.example:8443', 'keys.example:9443', '[2001:db8::1]:444']);
});
