/**
 * `pnpm verify`: every check, one after the other, and a summary with one line for each. `pnpm verify --mutations [filter]`
 * shows instead that the tests find the faults of `tools/mutations`.
 */
import { join } from 'node:path';
import { root, runNode } from './child.ts';
import { commandLine } from './command-line.ts';

type Check = { readonly name: string; readonly command: readonly string[] };

const bin = (path: string) => join(root, 'node_modules', path);

const checks: readonly Check[] = [
  { name: 'lint', command: ['scripts/lint.ts'] },
  { name: 'typecheck', command: [bin('typescript/bin/tsc')] },
  { name: 'test --all', command: ['scripts/test.ts', '--all'] },
  { name: 'demo --unattended', command: ['scripts/demo.ts', '--unattended'] },
  { name: 'conformance', command: ['test/conformance/main.ts'] },
];

const args = process.argv.slice(2);
if (args.includes('--mutations')) {
  const filters = args.filter(argument => argument !== '--mutations');
  process.exit(await runNode(['tools/mutations/main.ts', ...filters], { stdio: ['ignore', 'inherit', 'inherit'] }));
}

commandLine({
  usage: 'verify',
  about: 'runs lint, typecheck, all tests, the unattended demo and conformance',
  options: {
    mutations: { type: 'boolean', about: 'show instead that the tests find known faults; has a --help of its own' },
  },
});

const summary: string[] = [];
let failures = 0;
let interrupted = false;
process.once('SIGINT', () => {
  interrupted = true;
});
for (const { name, command } of checks) {
  console.log(`\n▶ ${name}`);
  const began = performance.now();
  const exitCode = await runNode(command, { stdio: ['ignore', 'inherit', 'inherit'] });
  const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(7);
  summary.push(`${name.padEnd(20)}${seconds} s  ${exitCode === 0 ? 'ok' : `FAILED (exit code ${exitCode})`}`);
  if (exitCode !== 0) failures += 1;
  if (interrupted) break;
}
console.log(`\n${summary.join('\n')}`);
process.exitCode = interrupted ? 130 : failures > 0 ? 1 : 0;
