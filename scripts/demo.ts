/**
 * `pnpm demo [arguments]`: tools/demo with the same arguments. Unattended, a browser acts as the user; setup
 * installs it where it can.
 */
import { runNode } from './child.ts';
import { setupIfPossible } from './setup.mjs';

const args = process.argv.slice(2);
if (args.includes('--unattended')) await setupIfPossible(['chromium']);
process.exitCode = await runNode(['tools/demo/src/main.ts', ...args]);
