/**
 * `pnpm conformance`: the official conformance suite where it touches elicitation, against an MCP server built with
 * `@postern/mcp` and a real gateway and against an MCP client built with `@postern/host`; the scenarios of `@postern/conformance` against
 * both; and our own scenarios of URL mode.
 * Ends with `N passed, N failed`.
 */
import type { ConformanceCheck } from '@postern/conformance';
import { commandLine } from '../../scripts/command-line.ts';
import { startWorld } from '../support/world.ts';
import { hostScenarios, runAgainstHost, runAgainstPostern, waysOfAsking } from './any-server/run-against-postern.ts';
import { startFixtureServer } from './official/fixture-server.ts';
import {
  listedScenarios,
  officialClientScenarios,
  officialScenarios,
  unaccountedScenarios,
} from './official/official-scenarios.ts';
import { type Check, listScenarios, runOfficialClientScenario, runOfficialScenario } from './official/run-scenario.ts';
import { citedScenarios } from './url-mode/scenarios.ts';
import { startUrlModeWorld } from './url-mode/url-mode-world.ts';

commandLine({
  usage: 'conformance',
  about: 'runs the official MCP conformance suite, @postern/conformance and our own scenarios',
  options: {},
});
const tally = { passed: 0, failed: 0 };

function report(name: string, faults: readonly string[], note = ''): void {
  const passed = faults.length === 0;
  tally[passed ? 'passed' : 'failed'] += 1;
  console.log(`${passed ? 'pass' : 'FAIL'}  ${name}${note}`);
  for (const fault of faults) console.log(`      ${fault.replaceAll('\n', '\n      ')}`);
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** A warning is a SHOULD that is not met: here it counts as failed. A scenario in which nothing was checked, too. */
function faultsOf(checks: readonly Pick<Check, 'id' | 'status' | 'errorMessage'>[]): string[] {
  const faults = checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, status, errorMessage = '' }) => `${id}: ${status.toLowerCase()} ${errorMessage}`);
  return checks.some(({ status }) => status === 'SUCCESS') ? faults : [...faults, 'nothing was checked'];
}

function reportChecks(name: string, checks: Parameters<typeof faultsOf>[0]): void {
  const succeeded = checks.filter(({ status }) => status === 'SUCCESS').length;
  report(name, faultsOf(checks), ` (${succeeded} checks)`);
}

/** Generous: a scenario ends by what happens in it. The limit only turns a hang into a failure. */
const LIMIT_MS = 60_000;

async function withinLimit<T>(work: Promise<T>): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not over after ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

async function runOfficial(): Promise<void> {
  console.log('Official scenarios that touch elicitation (@modelcontextprotocol/conformance)\n');
  for (const fault of unaccountedScenarios(listedScenarios(await listScenarios(), 'Server'), officialScenarios))
    report('the list of scenarios', [fault]);
  await using world = await startWorld();
  await using fixture = await startFixtureServer(world);
  for (const { name, skipped } of officialScenarios) {
    if (skipped !== undefined) {
      console.log(`skip  ${name}: ${skipped}`);
      continue;
    }
    try {
      const checks = await runOfficialScenario(name, fixture.urlFor(world.subject()));
      await withinLimit(fixture.untilPeopleAreDone());
      reportChecks(name, checks);
    } catch (error) {
      report(name, [textOf(error)]);
    }
  }
}

async function runOfficialClient(): Promise<void> {
  console.log('\nOfficial client scenarios that touch elicitation\n');
  for (const fault of unaccountedScenarios(listedScenarios(await listScenarios(), 'Client'), officialClientScenarios))
    report('the list of client scenarios', [fault]);
  for (const { name, revision } of officialClientScenarios) {
    try {
      reportChecks(name, await withinLimit(runOfficialClientScenario(name, revision)));
    } catch (error) {
      report(name, [textOf(error)]);
    }
  }
}

async function runAnyServer(): Promise<void> {
  console.log('\nURL mode of any MCP server and any MCP client (@postern/conformance)\n');
  await using world = await startWorld();
  const reportAll = async (name: string, run: Promise<readonly ConformanceCheck[]>) => {
    try {
      reportChecks(name, await withinLimit(run));
    } catch (error) {
      report(name, [textOf(error)]);
    }
  };
  for (const way of waysOfAsking) await reportAll(`@postern/mcp ${JSON.stringify(way)}`, runAgainstPostern(world, way));
  for (const { scenario, revision } of hostScenarios)
    await reportAll(`@postern/host ${scenario.name} ${revision}`, runAgainstHost(scenario, revision));
}

async function runUrlMode(): Promise<void> {
  console.log('\nURL mode (ours)\n');
  const scenarios = citedScenarios();
  await using world = await startUrlModeWorld();
  for (const { id, run, requirement } of scenarios) {
    try {
      await withinLimit(run(world));
      report(id, []);
    } catch (error) {
      report(id, [`${requirement.level}: ${requirement.text}`, requirement.spec, textOf(error)]);
    }
  }
}

// Work that a failed scenario left behind, and that then failed as well.
process.on('unhandledRejection', error => report('unhandled rejection', [textOf(error)]));

for (const run of [runOfficial, runOfficialClient, runAnyServer, runUrlMode]) {
  try {
    await run();
  } catch (error) {
    report(run.name, [textOf(error)]);
  }
}
console.log(`\n${tally.passed} passed, ${tally.failed} failed`);
// The pool of leased Redis servers keeps the process alive; it ends them on exit.
process.exit(tally.failed === 0 ? 0 : 1);
