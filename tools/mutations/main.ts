/**
 * `node tools/mutations/main.ts [filter…] [--limit seconds] [--copies n] [--no-baseline]`: runs every fault whose name,
 * file or rule contains one of the filters, and ends with `N found, N not found`.
 */
import { availableParallelism } from 'node:os';
import { commandLine } from '../../scripts/command-line.ts';
import { faults } from './faults.ts';
import { runBaseline, runFaults } from './run-faults.ts';

const { values, positionals } = commandLine({
  usage: 'verify --mutations [filter…]',
  about: 'runs every fault whose name, file or rule contains one of the filters',
  options: {
    limit: { type: 'string', default: '15', about: 'seconds within which a test must find the fault' },
    copies: { type: 'string', default: String(Math.min(availableParallelism(), 4)), about: 'faults at the same time' },
    'no-baseline': { type: 'boolean', default: false, about: 'do not run the tests without a fault first' },
  },
  words: Number.POSITIVE_INFINITY,
});

const chosen = faults.filter(({ name, file, breaks }) =>
  positionals.length === 0 ? true : positionals.some(filter => `${name} ${file} ${breaks}`.includes(filter)),
);
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

const baseline = values['no-baseline'] ? undefined : await runBaseline(chosen);
if (baseline !== undefined && baseline.result !== 'passed') {
  console.error(`The tests fail without a fault: ${baseline.message}`);
  process.exit(1);
}

let found = 0;
let notFound = 0;
await runFaults(chosen, {
  copies: Number(values.copies),
  limitMs: Number(values.limit) * 1000,
  onResult({ fault, run, seconds }) {
    if (run.result === 'failed') found += 1;
    else notFound += 1;
    const verdict = run.result === 'failed' ? 'found    ' : 'NOT FOUND';
    console.log(`${verdict} ${seconds.toFixed(1).padStart(5)} s  ${fault.name} (${fault.breaks})`);
    if (run.result === 'failed') console.log(`                   ${run.test}\n                   ${run.message}`);
    else console.log(`                   ${run.result === 'passed' ? 'every test passed' : run.message}`);
  },
});
console.log(`${found} found, ${notFound} not found`);
process.exitCode = notFound > 0 || found === 0 ? 1 : 0;
