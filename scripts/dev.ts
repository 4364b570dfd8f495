/** `pnpm dev [arguments]`: runs the demo and restarts it whenever a source file changes. */
import { runNode } from './child.ts';

const watch = ['--watch', '--watch-path=packages', '--watch-path=services', '--watch-preserve-output'];
process.exitCode = await runNode([...watch, 'services/demo/src/main.ts', ...process.argv.slice(2)]);
