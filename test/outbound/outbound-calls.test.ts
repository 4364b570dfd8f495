import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { outboundClients } from './outbound-clients.ts';

const root = new URL('../../', import.meta.url).pathname;

/** They hand a request on to the `fetch` that they were given. */
const wrappers = [
  ...['bulkhead.ts', 'create-metrics.ts', 'observation.ts', 'traced.ts'],
  // The one way out, the fetch of openid-client, and the processor's default without a gateway.
  ...['outbound-agent.ts', 'outbound-fetch.ts', 'deps.ts', 'stripe-processor.ts'],
  // Reads the certificate of the operator's Redis.
  'tls-fault.ts',
];

/** Ways out of a process: `fetch` under any name, request functions of Node, libraries that send by themselves. */
const waysOut = [
  /(?<!function |async |import )\b(fetch|\w+Fetch)\((?!\s*\w+: )/,
  /from 'undici'/,
  /import \{[^}]*\b(request|get|connect|createConnection|createSocket)\b[^}]*\} from 'node:(http|https|http2|net|tls|dgram)'/,
  /new OTLPTraceExporter\(/,
];
/** They make a `fetch` or look at the header `Sec-Fetch-Site`; neither sends anything. */
const others = /\b(createOutboundFetch|aroundFetch|stripeFetch|tracedFetch|measuredFetch|is\w*Fetch|observe\.fetch)\(/g;

it('every place that sends requests out of the gateway is named in the table of outbound clients', () => {
  const files = globSync('{services/gateway,packages/{authorization,payment,vault,webhooks,store-redis}}/src/**/*.ts', {
    cwd: root,
  }).filter(file => !/\.test\.ts$|-fixture\.ts$|\/testing\/|\/contract\//.test(file));
  const sending = files.filter(file => {
    const code = readFileSync(`${root}${file}`, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    return waysOut.some(way => way.test(code.replaceAll(others, '')));
  });
  const named = new Set(Object.values(outboundClients).flatMap(({ calls }) => calls));
  const unnamed = sending.map(file => basename(file)).filter(file => ![...named, ...wrappers].includes(file));
  expect(unnamed).toEqual([]);
  expect([...named].filter(file => !sending.some(sent => basename(sent) === file))).toEqual([]);
});
