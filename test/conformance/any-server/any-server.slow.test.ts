/** `@postern/conformance`, which knows nothing of Postern, against `@postern/mcp`, `@postern/host` and the official example. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConformanceCheck } from '@postern/conformance';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorld, type World } from '../../support/world.ts';
import { officialExampleFacts } from './official-example-facts.ts';
import { hostScenarios, runAgainstHost, runAgainstPostern, waysOfAsking } from './run-against-postern.ts';

const notSuccessful = (checks: readonly ConformanceCheck[]) =>
  checks.filter(({ status }) => status !== 'SUCCESS').map(({ id, status, errorMessage }) => [id, status, errorMessage]);

describe('an MCP server built with @postern/mcp', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const skipped = [
    [
      ['sep-1036-required-error-shape', 'SKIPPED', 'this MCP server asks with elicitation/create'],
      ['sep-1036-required-error-justified', 'SKIPPED', 'this MCP server asks with elicitation/create'],
    ],
    [
      ['sep-1036-create-shape', 'SKIPPED', 'this MCP server asks with -32042'],
      ['sep-1036-client-refusal-handled', 'SKIPPED', 'after -32042 there is no request that the client could refuse'],
    ],
    [['sep-2322-missing-capability-error', 'SKIPPED', 'this MCP server answers with a result']],
    [],
  ];
  test.each(waysOfAsking.map((way, at) => [way, skipped[at]] as const))(
    'passes every check that applies: %j',
    async (way, expected) => {
      expect(notSuccessful(await runAgainstPostern(world, way))).toEqual(expected);
    },
  );
});

test.each(hostScenarios)(
  '@postern/host passes $scenario.name of revision $revision',
  async ({ scenario, revision }) => {
    const found = notSuccessful(await runAgainstHost(scenario, revision));
    expect(found.filter(([, status]) => status !== 'SKIPPED')).toEqual([]);
    expect(found.map(([id]) => id).filter(id => id !== 'sep-1036-client-undeclared-mode')).toEqual([]);
  },
);

test('README of @postern/conformance lists what the official example fails', async () => {
  const readme = readFileSync(join(import.meta.dirname, '../../../tools/conformance/README.md'), 'utf8');
  expect(readme).toContain(await officialExampleFacts());
});
