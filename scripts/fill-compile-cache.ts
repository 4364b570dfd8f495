/**
 * `node scripts/fill-compile-cache.ts`: has Node.js compile every module that a gateway may ever load, into the folder
 * NODE_COMPILE_CACHE. A gateway that can only read that folder then never has to strip types, which takes 28 MB.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './child.ts';

/** What is imported only when somebody needs it, relative to the repository. */
export function lateModules(): string[] {
  const sources = globSync('{services/gateway,packages/*}/src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] });
  const found = sources.flatMap(path =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/\bimport\('(\.[^']+\.ts)'\)/g)].map(([, late = '']) =>
      join(dirname(path), late),
    ),
  );
  return [...new Set(found)].sort();
}

if (import.meta.main) {
  if (!process.env['NODE_COMPILE_CACHE']) {
    console.error('NODE_COMPILE_CACHE names no folder');
    process.exit(2);
  }
  for (const path of lateModules()) await import(pathToFileURL(join(root, path)).href);
  // Without a configuration it says so and ends, having loaded what every gateway loads.
  const { status } = spawnSync(process.execPath, [join(root, 'services/gateway/src/main.ts'), join(root, 'none.yaml')]);
  process.exit(status === 1 ? 0 : 1);
}
