/** `pnpm demo [arguments]`: setup, then services/demo with the same arguments. Unattended, a browser plays the user. */
import { runNode } from './child.ts';
import { setupOrExit } from './setup.ts';

const args = process.argv.slice(2);
await setupOrExit(args.includes('--unattended') ? ['redis', 'chromium'] : ['redis']);
process.exitCode = await runNode(['services/demo/src/main.ts', ...args]);
