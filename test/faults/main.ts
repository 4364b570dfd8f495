/**
 * `pnpm faults`: runs the fault catalogue. README.md explains scenarios and results.
 */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { commandLine, refuseArguments } from '../../scripts/command-line.ts';
import { endOnSignals } from '../support/end-with-us.ts';
import { recordResults, rounded } from './catalogue.ts';
import { type RunResult, runScenario } from './runner.ts';
import { loadScenarios } from './scenarios/load/index.ts';
import { networkScenarios } from './scenarios/network/index.ts';
import { processScenarios } from './scenarios/process/index.ts';
import { redisScenarios } from './scenarios/redis/index.ts';

const LONG_SEEDS = 20;
const scenarios = [...processScenarios, ...redisScenarios, ...networkScenarios, ...loadScenarios];

const { values } = commandLine({
  usage: 'faults',
  about: 'runs complete gateways, injects faults and checks the recorded history',
  options: {
    long: { type: 'boolean', default: false, about: `add the long scenarios, and run each with ${LONG_SEEDS} seeds` },
    only: { type: 'string', multiple: true, about: 'only these items, such as P1,R4' },
    seed: { type: 'string', about: 'repeat one seed, as printed by a failure' },
    seeds: { type: 'string', about: 'run seeds 1 to this number' },
    out: { type: 'string', about: 'store the histories of failures in this folder' },
    record: { type: 'boolean', default: false, about: 'write CATALOGUE.md' },
  },
});

const wanted = new Set((values.only ?? []).flatMap(list => list.split(',')));
const unknown = [...wanted].filter(item => !scenarios.some(scenario => scenario.item === item));
if (unknown.length > 0)
  refuseArguments(
    `unknown: ${unknown.join(' ')} (known: ${[...new Set(scenarios.map(({ item }) => item))].join(', ')})`,
  );
const directory = resolve(values.out ?? join(tmpdir(), 'postern-faults'));
const count = Number(values.seeds ?? (values.long ? LONG_SEEDS : 1));
const seeds = values.seed === undefined ? Array.from({ length: count }, (_, n) => n + 1) : [Number(values.seed)];
if (!seeds.every(Number.isSafeInteger) || seeds.length === 0) refuseArguments('a seed is a whole number');

const chosen = scenarios.filter(
  ({ item, length }) =>
    (wanted.size === 0 || wanted.has(item)) && (values.long || length !== 'long' || wanted.has(item)),
);
endOnSignals();

const results: RunResult[] = [];
for (const scenario of chosen) {
  // A directed test has no seeds.
  for (const seed of scenario.directed === undefined ? seeds : seeds.slice(0, 1)) {
    const result = await runScenario(scenario, { seed, isLong: values.long, isTimed: true, directory });
    results.push(result);
    console.log(lineOf(result));
    for (const reason of result.reasons.slice(0, 20)) console.log(`      ${reason}`);
    if (result.reasons.length > 20) console.log(`      and ${result.reasons.length - 20} more`);
    if (result.historyPath !== undefined)
      console.log(
        `      history: ${result.historyPath}\n      again: pnpm faults --only=${scenario.item} --seed=${seed}`,
      );
  }
  // Print each result at once: an interrupted run of hours must not lose its results.
  if (values.record) recordResults(results, scenarios, { date: new Date(), isLong: values.long });
}
const counted = (outcome: RunResult['outcome']) => results.filter(result => result.outcome === outcome).length;
console.log(`\n${counted('passed')} passed, ${counted('failed')} failed, ${counted('skipped')} skipped`);
for (const { scenario, reasons } of results.filter(({ outcome }) => outcome === 'skipped'))
  console.log(`NOT SHOWN: ${scenario.item} ${scenario.name}: ${reasons.join(', ')}`);
process.exit(counted('failed') === 0 ? 0 : 1);

function lineOf({ scenario, seed, outcome, seconds, measures }: RunResult): string {
  const verdict = { passed: 'ok', failed: 'FAILED', skipped: 'SKIPPED' }[outcome];
  const figures = measures.map(({ name, value, unit }) => `${name} ${rounded(value)}${unit === '' ? '' : ` ${unit}`}`);
  return [scenario.item.padEnd(4), scenario.name, `seed ${seed}`, verdict, `${seconds.toFixed(1)} s`, ...figures].join(
    ' · ',
  );
}
