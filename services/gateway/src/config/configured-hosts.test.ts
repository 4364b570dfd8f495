import { expect, test } from 'vitest';
import { configuredHosts } from './configured-hosts.ts';

test('hosts with a port of their own are found once, wherever the configuration names them', () => {
  const parts = [
    { issuer: 'https://id.example:8443', accessTokens: { jwksUri: 'https://keys.example:9443/jwks' } },
    { issuer: 'https://id.example:8443/tenant', tokenEndpoint: 'https://id.example/token', scopes: { 'a:1': 'text' } },
    [['https://[2001:db8::1]:444/x', 'http://plain.example:81', 'https://', 7, null]],
  ];
  expect(configuredHosts(parts)).toEqual(['id.example:8443', 'keys.example:9443', '[2001:db8::1]:444']);
});
