import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readFileOfProxy } from './config.ts';

const folder = mkdtempSync(join(tmpdir(), 'postern-proxy-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const upstreams = { files: { command: ['node', 'server.mjs'] } };
const gateway = { url: 'https://postern.example', apiKey: '${env:KEY}' };

function read(config: object) {
  const path = join(folder, 'proxy.json');
  writeFileSync(path, JSON.stringify({ upstreams, ...config }));
  return readFileOfProxy(path, undefined, { KEY: 'key', EMPTY: ' ' });
}

test.each([
  // Whoever reaches it could name such a host.
  ['hosts of others without their tokens', { http: { listen: '0.0.0.0:1', allowedHosts: ['proxy.example'] } }],
  ['tokens and a person', { http: { auth: true }, gateway: { ...gateway, person: { issuer: 'i', subject: 's' } } }],
  ['an upstream at the path of load balancers', { upstreams: { health: upstreams.files } }],
  ['an upstream whose name is no part of a path', { upstreams: { 'a..': upstreams.files, '..': upstreams.files } }],
  ['tokens without a gateway', { http: { auth: true } }],
  // Session ids are sealed with it.
  ['an empty key', { http: { auth: true }, gateway: { ...gateway, apiKey: '${env:EMPTY}' } }],
  ['a variable that is not set', { http: { auth: true }, gateway: { ...gateway, apiKey: '${env:NONE}' } }],
  ['a reference with an odd name', { http: { auth: true }, gateway: { ...gateway, apiKey: '${env:MY-KEY}' } }],
])('a file with %s is refused', async (_name, config) => {
  await expect(read(config)).rejects.toThrow();
});

test('a file with hosts and tokens is read', async () => {
  const http = { auth: true, allowedHosts: ['proxy.example'] };
  expect(await read({ http, gateway })).toMatchObject({ type: 'http', http, gateway: { apiKey: 'key' } });
});
