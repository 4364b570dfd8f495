/** `pnpm start [configuration]`: runs the gateway. */
import { join } from 'node:path';
import { root, runNode } from './child.ts';
import { commandLine } from './command-line.ts';

const { positionals: args } = commandLine({
  usage: 'start [file]',
  about: 'runs the gateway, with this file, $POSTERN_CONFIG or postern.config.yaml',
  options: {},
  words: 1,
});
// Caches compiled modules in a folder that only its owner can write. This halves the start time and saves memory.
const NODE_COMPILE_CACHE = process.env['NODE_COMPILE_CACHE'] ?? join(root, 'node_modules/.cache/compiled');
process.exitCode = await runNode([join(root, 'services/gateway/src/main.ts'), ...args], {
  cwd: process.cwd(),
  env: { ...process.env, NODE_COMPILE_CACHE },
});
