import { expect, test } from 'vitest';
import type { ConformanceCheck } from '../checks.ts';
import type { RequirementId } from '../requirements.ts';
import { type Revision, revisions } from '../revision.ts';
import type { ServerTarget } from '../scenario.ts';
import { type Fault, startFixtureServer, TOOL, tokens } from '../testing/fixture-server.ts';
import { serverScenarios } from './scenarios.ts';

type Style = 'error' | 'push';

async function run(
  revision: Revision,
  style: Style,
  ...faults: readonly Fault[]
): Promise<readonly ConformanceCheck[]> {
  await using fixture = await startFixtureServer(style, ...faults);
  const endpointOf = (token: string) => ({ url: fixture.url, headers: { authorization: `Bearer ${token}` } });
  const target: ServerTarget = {
    revision,
    endpoint: endpointOf(tokens.alice),
    otherEndpoint: endpointOf(tokens.bob),
    tool: TOOL,
    args: { of: 'alice' },
    otherArgs: { of: 'carol' },
    userData: ['alice@example.com'],
    openAs: fixture.open,
    limitMs: faults.includes('never-completes') ? 300 : 60_000,
    // The fixture does what is wrong before it answers the request that it is wrong for.
    settleMs: 150,
  };
  const checks: ConformanceCheck[] = [];
  for (const scenario of serverScenarios.filter(each => each.revisions.includes(revision))) {
    fixture.reset();
    checks.push(...(await scenario.run(target)));
  }
  return checks;
}

const failed = (checks: readonly ConformanceCheck[]) =>
  checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING').map(({ id }) => id);
const skipped = (checks: readonly ConformanceCheck[]) =>
  checks.filter(({ status }) => status === 'SKIPPED').map(({ id }) => id);

const both = ['2025-11-25', '2026-07-28'] as const;

test('a correct MCP server passes every check that applies to the way in which it asks', async () => {
  const error = await run('2025-11-25', 'error');
  expect(error.filter(({ status }) => status !== 'SUCCESS' && status !== 'SKIPPED')).toEqual([]);
  expect(skipped(error)).toEqual(['sep-1036-create-shape', 'sep-1036-client-refusal-handled']);
  const push = await run('2025-11-25', 'push');
  expect(push.filter(({ status }) => status !== 'SUCCESS' && status !== 'SKIPPED')).toEqual([]);
  expect(skipped(push)).toEqual(['sep-1036-required-error-shape', 'sep-1036-required-error-justified']);
  const modern = await run('2026-07-28', 'error');
  expect(modern.filter(({ status }) => status !== 'SUCCESS')).toEqual([]);
});

/** Each fault, where it shows, and the checks that must find it. */
const faults: readonly (readonly [Fault, readonly Revision[], Style, readonly RequirementId[]])[] = [
  ['ignores-capability', both, 'error', ['sep-1036-mode-declared-only']],
  ['never-asks', both, 'error', ['sep-1036-url-mode-asked']],
  ['no-message', ['2025-11-25'], 'error', ['sep-1036-required-error-shape']],
  ['no-message', both, 'push', ['sep-1036-create-shape']],
  ['one-id', ['2025-11-25'], 'error', ['sep-1036-elicitation-id-unique']],
  ['relative-url', both, 'error', ['sep-1036-url-valid']],
  ['email-in-url', both, 'error', ['sep-1036-url-without-user-data']],
  ['token-in-url', both, 'error', ['sep-1036-url-not-pre-authenticated']],
  ['session-in-url', ['2025-11-25'], 'error', ['sep-1036-url-without-session-id']],
  ['fails-on-refusal', both, 'push', ['sep-1036-client-refusal-handled']],
  ['accept-completes', both, 'push', ['sep-1036-accept-is-consent']],
  ['get-completes', both, 'error', ['sep-1036-get-completes-nothing']],
  ['anonymous-completes', both, 'push', ['sep-1036-anonymous-completes-nothing']],
  ['anyone-completes', both, 'error', ['sep-1036-anonymous-completes-nothing']],
  ['never-completes', ['2025-11-25'], 'error', ['sep-1036-completes', 'sep-1036-required-error-justified']],
  ['never-completes', ['2026-07-28'], 'error', ['sep-1036-completes']],
  ['other-id', ['2025-11-25'], 'error', ['sep-1036-completion-known-id']],
  ['notice-to-all', ['2025-11-25'], 'error', ['sep-1036-completion-initiator-only']],
  ['early-notice', ['2025-11-25'], 'error', ['sep-1036-completion-truthful', 'sep-1036-anonymous-completes-nothing']],
  ['notice-twice', ['2025-11-25'], 'error', ['sep-1036-completion-once']],
  ['required-error', ['2026-07-28'], 'error', ['sep-2322-no-required-error']],
  ['capability-code', ['2026-07-28'], 'error', ['sep-2322-missing-capability-error']],
  ['state-is-number', ['2026-07-28'], 'error', ['sep-2322-input-required-shape']],
  ['state-shows-user', ['2026-07-28'], 'error', ['sep-2322-state-without-user-data']],
  ['fails-without-response', ['2026-07-28'], 'error', ['sep-2322-missing-response']],
  ['fails-on-unknown', ['2026-07-28'], 'error', ['sep-2322-unknown-response']],
  ['takes-malformed', ['2026-07-28'], 'error', ['sep-2322-malformed-response']],
  ['unsigned-state', ['2026-07-28'], 'error', ['sep-2322-tampered-state']],
  ['state-for-anyone', ['2026-07-28'], 'error', ['sep-2322-state-of-other-user']],
  ['state-for-any-arguments', ['2026-07-28'], 'error', ['sep-2322-state-of-other-request']],
  ['replay-for-anyone', ['2026-07-28'], 'error', ['sep-2322-replayed-state']],
];

test.each(faults.flatMap(([fault, of, style, ids]) => of.map(revision => [fault, revision, style, ids] as const)))(
  'finds the fault %s of an MCP server of revision %s that asks by %s',
  async (fault, revision, style, ids) => {
    expect(failed(await run(revision, style, fault))).toEqual(expect.arrayContaining([...ids]));
  },
);

test('a URL that cannot be opened by a browser ends the checks of the URL as failures, and not as successes', async () => {
  const checks = await run('2025-11-25', 'error', 'relative-url');
  const untestable = checks.filter(({ details }) => details?.['untestable'] === true).map(({ id }) => id);
  expect(untestable).toContain('sep-1036-url-https');
  expect(untestable).toContain('sep-1036-same-user');
});

test('every check of every scenario cites the specification of its revision', async () => {
  for (const revision of revisions)
    for (const { specReferences } of await run(revision, 'error', 'never-asks')) {
      expect(specReferences).not.toEqual([]);
      for (const { url } of specReferences)
        expect(url).toContain(`https://modelcontextprotocol.io/specification/${revision}/`);
    }
});
