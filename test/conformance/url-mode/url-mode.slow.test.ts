import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manifest } from './manifest.ts';
import { citedScenarios } from './scenarios.ts';
import { startUrlModeWorld, type UrlModeWorld } from './url-mode-world.ts';

describe('the manifest of URL-mode requirements', () => {
  const [first, second] = manifest;
  const run = async () => undefined;

  it('cites a section of the specification for each', () => {
    for (const { spec } of manifest)
      expect(spec).toMatch(/^https:\/\/modelcontextprotocol\.io\/specification\/20(25-11-25|26-07-28)\//);
  });

  it('fails on a requirement without a scenario, and on a scenario without a requirement', () => {
    if (first === undefined || second === undefined) throw new Error('the manifest is empty');
    const scenario = { id: first.id, run };
    expect(citedScenarios([first], [scenario])).toHaveLength(1);
    expect(() => citedScenarios([first, second], [scenario])).toThrow(second.id);
    expect(() => citedScenarios([first], [scenario, { id: 'url-mode:uncited', run }])).toThrow('url-mode:uncited');
    expect(() => citedScenarios([first, first], [scenario])).toThrow(first.id);
    expect(() => citedScenarios([first], [scenario, scenario])).toThrow(first.id);
  });
});

describe('URL mode', () => {
  let world: UrlModeWorld;
  beforeAll(async () => {
    world = await startUrlModeWorld();
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  it.each(citedScenarios().map(scenario => [scenario.id, scenario] as const))('%s', (_id, scenario) =>
    scenario.run(world),
  );
});
