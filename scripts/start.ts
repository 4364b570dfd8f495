/** `pnpm start [configuration]`: the gateway, and before it the setup of its private Redis where it will start one. */
import { runNode } from './child.ts';
import { needsOwnRedis } from './own-redis.ts';
import { setupOrExit } from './setup.ts';

const args = process.argv.slice(2);
const configPath = args[0] ?? process.env['POSTERN_CONFIG'] ?? 'postern.config.yaml';
if (needsOwnRedis(configPath, process.env)) await setupOrExit(['redis']);
process.exitCode = await runNode(['services/gateway/src/main.ts', ...args], { cwd: process.cwd() });
