/**
 * `node services/gateway/src/platform/fill-compile-cache.ts`: compiles every module that a gateway may load into the folder
 * NODE_COMPILE_CACHE. A gateway with read-only access to that folder then never strips types, which takes 28 MB.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The folder of the workspace. */
const workspace = fileURLToPath(new URL('../../../..', import.meta.url));

/** Modules imported, or started as a thread, only when a configuration or a request needs them, relative to the workspace. @internal */
export function lateModules(): string[] {
  const sources = globSync('{services/gateway,packages/*}/src/**/*.ts', { cwd: workspace, exclude: ['**/*.test.ts'] });
  const found = sources.flatMap(path =>
    [...readFileSync(join(workspace, path), 'utf8').matchAll(/\b(?:import\(|new Worker\(new URL\()'([^']+\.ts)'/g)].map(
      ([, late = '']) => join(dirname(path), late),
    ),
  );
  return [...new Set(found)].sort();
}

if (import.meta.main) {
  if (!process.env['NODE_COMPILE_CACHE']) {
    process.stderr.write('NODE_COMPILE_CACHE names no folder\n');
    process.exit(2);
  }
  for (const path of lateModules()) await import(pathToFileURL(join(workspace, path)).href);
  // Without a configuration, the gateway exits with code 1, but only after it has loaded the modules that every start needs.
  const main = fileURLToPath(new URL('../main.ts', import.meta.url));
  const { status } = spawnSync(process.execPath, [main, join(workspace, 'none.yaml')]);
  process.exit(status === 1 ? 0 : 1);
}
