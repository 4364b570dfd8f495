/** `pnpm start [arguments]`: the gateway. Without a REDIS_URL it starts a Redis of its own, which must be installed. */
import { runNode } from './child.ts';
import { setupOrExit } from './setup.ts';

if (!process.env['REDIS_URL']) await setupOrExit(['redis']);
process.exitCode = await runNode(['services/gateway/src/main.ts', ...process.argv.slice(2)]);
