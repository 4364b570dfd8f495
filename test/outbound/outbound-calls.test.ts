import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { outboundClients } from './outbound-clients.ts';

const root = new URL('../../', import.meta.url).pathname;

/** Files that pass a request on to an injected `fetch`. */
const wrappers = [
  ...['upstream.ts', 'call-channels.ts', 'safe-http.ts'],
  // The guarded fetch, the fetch of openid-client, and the processor's default without a gateway.
  ...[
    'outbound-agent.ts',
    'outbound-agent.ts 2',
    'outbound-fetch.ts',
    'outbound-fetch.ts 2',
    'deps.ts',
    'stripe-processor.ts',
  ],
  // Opens the connections of `telemetry.ts`.
  ...['export-agent.ts', 'export-agent.ts 2'],
  // Reads the certificate of the operator's Redis.
  'connect-redis.ts',
  // Reads only a status, of a gateway that has proved that it knows the vault keys.
  'mcp-servers-add.ts',
  // Reads bounded messages from the local socket: local-server.test.ts has an impostor there.
  'find-gateway.ts',
  // Its own `fetch` answers requests.
  'http-proxy.ts',
  // Reads bounded metadata of configured issuers: bearer.test.ts has wrong documents of its own.
  'bearer.ts',
];

/** Calls with a separate fuzz test instead of a row in the table. The second call of a file is `file.ts 2`. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  'packages/authorization/src/registration/registration-endpoint.test.ts': ['registration-endpoint.ts'],
  'packages/proxy/src/http/any-answers.test.ts': ['http-upstream.ts'],
  'services/gateway/src/cli/admin-door.test.ts': ['admin-door.ts'],
  'services/gateway/src/sealing/key-services/vault-transit.test.ts': ['vault-transit.ts'],
  'test/check/any-answers.slow.test.ts': ['inspect-server.ts', 'inspect-server.ts 2', 'public-url-check.ts'],
  'test/outbound/mcp-server.slow.test.ts': ['client.ts', 'client.ts 2', 'client.ts 3', 'authorize.ts', 'verifier.ts'],
};

/** Outbound calls: `fetch` under any name with an argument, request functions of Node, and libraries that send requests. */
const waysOut = [
  /(?<!function |async |import )\b(?:fetch|fetchImplementation|\w+Fetch)\((?!\s*\w+: |\))/g,
  /from 'undici'/g,
  /import \{[^}]*\b(?:request|get|connect|createConnection|createSocket|Agent)\b[^}]*\} from 'node:(?:http|https|http2|net|tls|dgram)'/g,
  /new OTLPTraceExporter\(/g,
  /\bcreateRemoteJWKSet\(/g,
];
/** These create a `fetch`, load a value into a cache or read the header `Sec-Fetch-Site`; none sends a request. */
const others =
  /\b(createOutboundFetch|createApiFetch|overFetch|transitFetch|wrapFetch|stripeFetch|publishedFetch|boundedFetch|forceFetch|is\w*Fetch|observe\.fetch)\(/g;

/** Names the calls of a file: `file.ts`, `file.ts 2`, … */
function callsIn(file: string): readonly string[] {
  const code = readFileSync(`${root}${file}`, 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    .replaceAll(others, '');
  const count = waysOut.reduce((sum, way) => sum + (code.match(way)?.length ?? 0), 0);
  return Array.from({ length: count }, (_, at) => (at === 0 ? basename(file) : `${basename(file)} ${at + 1}`));
}

it('every outbound call of a package is tested against a server with arbitrary responses', () => {
  // `conformance` is a test program whose own tests serve it faulty responses.
  const packages = 'packages/!(testkit|conformance)/src/**/*.ts';
  const files = globSync(['services/gateway/src/**/*.ts', packages], { cwd: root }).filter(
    // `test-gate` serves the tests of MCP servers, and talks only to processes that it started.
    file => !/\.test\.ts$|\/testing\/|\/test-gate\/|\/contract\//.test(file),
  );
  const calls = files.flatMap(callsIn);
  const named = new Set([
    ...Object.values(outboundClients).flatMap(client => client.calls),
    ...Object.values(elsewhere).flat(),
  ]);
  expect(calls.filter(call => !named.has(call) && !wrappers.includes(call))).toEqual([]);
  expect([...named].filter(call => !calls.includes(call))).toEqual([]);
  for (const file of Object.keys(elsewhere)) expect(readFileSync(`${root}${file}`, 'utf8')).toMatch(/anyAnswers\(/);
});
