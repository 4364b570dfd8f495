/** The official conformance suite against a server that passes it, directly and behind the proxy. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Check, runOfficialScenario, runOfficialSuite } from '../conformance/official/run-scenario.ts';
import { startConformanceServer } from './conformance-server.ts';
import { type ProxyProcess, startProxyProcess, transparent } from './proxy-process.ts';

const stack = new AsyncDisposableStack();
let url: URL;
let proxy: ProxyProcess;
beforeAll(async () => {
  ({ url } = stack.use(await startConformanceServer()));
  const upstream = { url: url.href };
  proxy = stack.use(
    await startProxyProcess({
      passing: { ...upstream, ...transparent.passing },
      looking: { ...upstream, ...transparent.looking },
      program: {
        command: [process.execPath, join(import.meta.dirname, 'conformance-program.ts')],
        ...transparent.passing,
      },
    }),
  );
});
afterAll(() => stack.disposeAsync());

/** Scenarios that no server built with the SDK can pass. They too must end the same. */
const UNSUPPORTED = /^tasks-/;

/** What a program on stdio does otherwise than a server over HTTP, although the proxy serves both over HTTP. */
const OF_PROGRAMS: Readonly<Record<string, string>> = {
  'server-sse-polling': 'a program has no streams that it could close and resume',
  'server-sse-multiple-streams': 'the answers of a program are JSON, and no streams',
};

const statusesOf = (results: ReadonlyMap<string, readonly Check[]>) =>
  Object.fromEntries([...results].map(([name, checks]) => [name, checks.map(({ id, status }) => `${id}: ${status}`)]));

const isFault = ({ status }: Check) => status === 'FAILURE' || status === 'WARNING';
const hasPassed = (checks: readonly Check[]) =>
  checks.some(({ status }) => status === 'SUCCESS') && !checks.some(isFault);

describe.each([
  ['2025-11-25', 33],
  ['2026-07-28', 40],
])('the scenarios of %s', (revision, count) => {
  let direct: ReadonlyMap<string, readonly Check[]>;
  beforeAll(async () => {
    direct = await runOfficialSuite(revision, url);
  });

  test('pass without the proxy', () => {
    const supported = [...direct].filter(([name]) => !UNSUPPORTED.test(name));
    expect(supported.filter(([, checks]) => !hasPassed(checks)).map(([name]) => name)).toEqual([]);
    expect(supported.length).toBeGreaterThanOrEqual(count);
  });

  test.each(['passing', 'looking'] as const)('end the same behind a proxy that is %s', async upstream => {
    const proxied = await runOfficialSuite(revision, proxy.urlOf(upstream));
    expect(statusesOf(proxied)).toEqual(statusesOf(direct));
  });
});

test('the scenarios of 2025-11-25 end the same for a program on stdio that the proxy serves over HTTP', async () => {
  const revision = '2025-11-25';
  const comparable = (results: ReadonlyMap<string, readonly Check[]>) =>
    statusesOf(new Map([...results].filter(([name]) => !(name in OF_PROGRAMS))));
  const served = await runOfficialSuite(revision, proxy.urlOf('program'));
  expect(comparable(served)).toEqual(comparable(await runOfficialSuite(revision, url)));
  for (const [name, checks] of served) expect(checks.filter(isFault), name).toEqual([]);
});

// The one difference: a server that leaves out what it must do on loopback is protected behind the proxy, which does it.
test.each(['2025-11-25', '2026-07-28'])(
  'a server that takes requests from anywhere is safe behind the proxy (%s)',
  async revision => {
    await using server = await startConformanceServer({ checksHost: false });
    await using protectedBy = await startProxyProcess({ careless: { url: server.url.href, ...transparent.passing } });
    const run = async (at: URL) => hasPassed(await runOfficialScenario('dns-rebinding-protection', at, revision));
    expect(await run(server.url)).toBe(false);
    expect(await run(protectedBy.urlOf('careless'))).toBe(true);
  },
);
