/**
 * `node scripts/packages/image.ts FOLDER`: writes what the container image of the gateway runs. The workspace has the production
 * dependencies in one flat `node_modules` (`--node-linker hoisted`).
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { root } from '../child.ts';
import { compileProgram } from './program.ts';
import { gateway } from './published.ts';

const folder = resolve(process.argv[2] ?? '');
const modules = join(root, 'node_modules');

const manifestSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
});

/** Adds the packages that these need to `found`. An optional one may be missing: it is for another platform. */
function addNeeded(names: readonly string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    const path = join(modules, name, 'package.json');
    if (found.has(name) || !existsSync(path)) continue;
    found.add(name);
    const { dependencies, optionalDependencies } = manifestSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    addNeeded(Object.keys({ ...dependencies, ...optionalDependencies }), found);
  }
  return found;
}

const neverRuns =
  /\.(?:[cm]?ts|map|md|markdown|flow)$|\/(?:test|tests|__tests__|benchmarks?|examples?|docs|\.[^/]*)(?=\/|$)/;

const { dependencies } = await compileProgram(gateway, folder);
chmodSync(join(folder, 'dist/postern.js'), 0o755);
cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
for (const name of addNeeded(Object.keys(dependencies)))
  cpSync(join(modules, name), join(folder, 'node_modules', name), {
    recursive: true,
    filter: path => !neverRuns.test(path.slice(modules.length)),
  });

// Without a configuration the gateway exits with code 1, after it has loaded the modules of every start.
const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, '.compiled') };
const node = (...args: readonly string[]) => spawnSync(process.execPath, args, { env, encoding: 'utf8' });
const start = node(join(folder, 'dist/postern.js'), 'start', join(folder, 'none.yaml'));
if (start.status !== 1) throw new Error(`the bundle does not start: ${start.stderr}`);
// Then the modules that only a configuration or a request needs. Those left out are programs.
const late = globSync('dist/*.js', { cwd: folder }).filter(path => !/^dist\/(?:postern|main)[.-]/.test(path));
const script = `for (const path of ${JSON.stringify(late.map(path => join(folder, path)))}) await import(path);`;
const rest = node('--input-type=module', '--eval', script);
if (rest.status !== 0) throw new Error(`a module of the bundle does not load: ${rest.stderr}`);
