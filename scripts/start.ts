/** `pnpm start [configuration]`: the gateway, and before it the setup of its private Redis where it will start one. */
import { join } from 'node:path';
import { root, runNode } from './child.ts';
import { needsOwnRedis } from './own-redis.ts';
import { setupOrExit } from './setup.mjs';

const args = process.argv.slice(2);
const configPath = args[0] ?? process.env['POSTERN_CONFIG'] ?? 'postern.config.yaml';
if (needsOwnRedis(configPath, process.env)) await setupOrExit(['redis']);
// Compiled modules are kept where only the owner of this folder writes: a start takes half the time, a process less memory.
const NODE_COMPILE_CACHE = process.env['NODE_COMPILE_CACHE'] ?? join(root, 'node_modules/.cache/compiled');
process.exitCode = await runNode([join(root, 'services/gateway/src/main.ts'), ...args], {
  cwd: process.cwd(),
  env: { ...process.env, NODE_COMPILE_CACHE },
});
