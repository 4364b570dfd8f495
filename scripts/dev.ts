/** `pnpm dev`: runs the demo and restarts it whenever a source file changes. */
import { runNode } from './child.ts';
import { commandLine } from './command-line.ts';

commandLine({ usage: 'dev', about: 'runs the demo and restarts it on source changes', options: {} });
const watch = ['--watch', '--watch-path=packages', '--watch-path=services', '--watch-preserve-output'];
process.exitCode = await runNode([...watch, 'tools/demo/src/main.ts']);
