import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scriptOf } from '@postern/store-redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rounded, seedsText } from './catalogue.ts';
import { crashPoints, runsScript } from './crash-points.ts';
import { parseHistory } from './history-entry.ts';
import { seededRandom } from './random.ts';
import { runScenario } from './runner.ts';
import type { FaultRun, Scenario } from './scenario.ts';
import { loadScenarios } from './scenarios/load/index.ts';
import { networkScenarios } from './scenarios/network/index.ts';
import { processScenarios } from './scenarios/process/index.ts';
import { redisScenarios } from './scenarios/redis/index.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'postern-harness-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const scenario = (run: (run: FaultRun) => Promise<void>): Scenario => ({ item: 'X1', name: 'made up', run });
const execute = (made: Scenario) => runScenario(made, { seed: 3, isLong: false, isTimed: true, directory });

/** Records an elicitation that is acknowledged and never read again. */
function recordLoss({ history }: FaultRun): void {
  const call = history.nextCall();
  history.record({ who: 'mcp:tracker', what: 'request', call, op: 'issue', to: 'http://a' });
  history.record({ who: 'mcp:tracker', what: 'response', call, http: 201, elicitationId: 'el_one' });
}

describe('a fault run', () => {
  it('a run without violations passes with its figures and leaves no history', async () => {
    let path: string | undefined;
    const result = await execute(
      scenario(async run => {
        path = run.history.path;
        run.measure('kills', 2, '');
      }),
    );
    expect(result).toMatchObject({ outcome: 'passed', seed: 3, measures: [{ name: 'kills', value: 2 }] });
    expect(existsSync(path ?? '')).toBe(false);
  });

  it('a run with a violation fails and keeps its history and logs', async () => {
    const result = await execute(
      scenario(async run => {
        recordLoss(run);
        run.history.log('a', 'last words');
      }),
    );
    expect(result).toMatchObject({ outcome: 'failed', reasons: [expect.stringMatching(/^I1 el_one/)] });
    const path = result.historyPath ?? '';
    expect(parseHistory(readFileSync(path, 'utf8'))).toHaveLength(2);
    expect(readFileSync(path.replace('.jsonl', '.a.log'), 'utf8')).toBe('last words\n');
  });

  it('a run with documented losses passes and counts them', async () => {
    const result = await execute(
      scenario(async run => {
        recordLoss(run);
        run.history.tolerate(['I1'], 'no record is kept here');
      }),
    );
    expect(result).toMatchObject({ outcome: 'passed', measures: [{ name: 'documented losses of I1', value: 1 }] });
  });

  it('a run whose scenario throws fails with that error and disposes its resources', async () => {
    let isDisposed = false;
    const result = await execute(
      scenario(async run => {
        run.stack.defer(() => {
          isDisposed = true;
        });
        throw new Error('not as promised');
      }),
    );
    expect(result).toMatchObject({ outcome: 'failed', reasons: [expect.stringMatching(/^not as promised/)] });
    expect(isDisposed).toBe(true);
  });

  it('a run that does not end fails', async () => {
    const endless = { ...scenario(() => new Promise(() => undefined)), timeoutMs: 1 };
    expect(await execute(endless)).toMatchObject({ outcome: 'failed' });
  });
});

describe('crash points', () => {
  it.each(Object.entries(crashPoints))('crash point %s matches its script by digest and by text', (_, { script }) => {
    const { lua, digest } = scriptOf(script);
    expect(lua).not.toBe('');
    const isMeant = runsScript(script);
    expect(isMeant(['evalsha', digest, '1'])).toBe(true);
    expect(isMeant(['EVAL', lua, '1'])).toBe(true);
    expect(isMeant(['evalsha', '0'.repeat(40)])).toBe(false);
    expect(isMeant(['get', 'key'])).toBe(false);
  });
});

describe('seeds', () => {
  it('a forked source draws the same values however much was drawn before', () => {
    const draw = (count: number) => {
      const random = seededRandom(7);
      for (let n = 0; n < count; n += 1) random.below(10);
      const own = random.fork('flow 1');
      return [own.below(1_000), own.between(5, 9), own.pick(['a', 'b', 'c']), own.chance(0.5)];
    };
    expect(draw(0)).toEqual(draw(5));
    expect(seededRandom(7).fork('a').below(1e9)).not.toBe(seededRandom(7).fork('b').below(1e9));
  });

  it('seeds and figures are printed in a short form', () => {
    expect(seedsText([1, 2, 3, 4])).toBe('1–4');
    expect(seedsText([9, 2])).toBe('2, 9');
    expect(rounded(0.75812)).toBe('0.758');
    expect(rounded(4_242.6)).toBe('4243');
  });
});

it('every test that a scenario refers to exists', () => {
  const scenarios = [...processScenarios, ...redisScenarios, ...networkScenarios, ...loadScenarios];
  const referred = scenarios.flatMap(({ directed }) => directed ?? []);
  const missing = referred.filter(({ file, test }) => {
    const path = join(import.meta.dirname, '../..', file);
    // A test table may fill in the rest of a title.
    const [id = ''] = test.split(/[ :]/);
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(id);
  });
  expect(referred.length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});
