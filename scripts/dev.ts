/** `pnpm dev [arguments]`: the whole constellation of the demo, started anew whenever a source changes. */
import { runNode } from './child.ts';

const watch = ['--watch', '--watch-path=packages', '--watch-path=services', '--watch-preserve-output'];
process.exitCode = await runNode([...watch, 'services/demo/src/main.ts', ...process.argv.slice(2)]);
