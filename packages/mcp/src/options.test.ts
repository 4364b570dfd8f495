import { expect, test } from 'vitest';
import { createEnvironment } from './environment.ts';
import type { PosternOptions } from './options.ts';

const good = { url: 'https://postern.example.com/', apiKey: 'k'.repeat(32) } satisfies PosternOptions<unknown>;
const auth = { privateKey: 'pem', kid: 'k1', mcpServerId: 'issues' };
const invalid = expect.objectContaining({ code: 'invalid_options' });

test.each<PosternOptions<unknown>>([
  good,
  { ...good, url: 'http://127.0.0.1:3000' },
  { ...good, url: 'http://localhost:3000/postern' },
  { ...good, url: 'http://[::1]:3000' },
  { ...good, url: 'http://gateway:3000', allowHttp: true },
  { url: good.url, auth, stateKeys: [{ kid: 'a', key: new Uint8Array(32) }] },
  { ...good, holdMs: 0 },
])('accepts %j', options => {
  expect(() => createEnvironment(options)).not.toThrow();
});

test.each<PosternOptions<unknown>>([
  { ...good, url: 'postern.example.com' },
  { ...good, url: 'ftp://postern.example.com' },
  { ...good, url: 'https://user@postern.example.com' },
  { ...good, url: 'https://postern.example.com/?a=1' },
  { ...good, url: 'http://gateway:3000' },
  { ...good, url: 'http://127.0.0.1.example.com' },
  { url: good.url },
  { ...good, apiKey: '' },
  { ...good, apiKey: `${'k'.repeat(32)}\n` },
  { ...good, auth },
  { url: good.url, auth },
  { ...good, stateKeys: [] },
  { ...good, holdMs: -1 },
  { ...good, holdMs: 0.5 },
  { ...good, maxRounds: 0 },
])('refuses %j', options => {
  expect(() => createEnvironment(options)).toThrow(invalid);
});

test('never quotes the API key', () => {
  const apiKey = 'secret key with spaces';
  expect(() => createEnvironment({ ...good, apiKey })).not.toThrow(expect.objectContaining({ message: /secret/ }));
  expect(() => createEnvironment({ ...good, apiKey })).toThrow(invalid);
});
