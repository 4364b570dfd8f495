/**
 * `pnpm lint`: Biome, then knip over everything and over product code alone, then the budgets of the documents. Names long functions
 * without failing.
 */
import { join } from 'node:path';
import { root, runNode } from './child.ts';
import { longFunctions } from './long-functions.ts';
import { words } from './ratchets.ts';
import { readSource, repositoryPaths } from './source-tree.ts';

const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
const knip = join(root, 'node_modules/knip/bin/knip.js');
const product = [
  '--production',
  '--include',
  'files,exports,duplicates',
  '-W',
  '!packages/testkit',
  '-W',
  '!test',
  '-W',
  '!tools/*',
];

const commands = [
  [biome, 'ci', '--error-on-warnings'],
  [knip, '--no-progress'],
  [knip, '--no-progress', ...product],
];

let failures = 0;
for (const command of commands)
  if ((await runNode(command, { stdio: ['ignore', 'inherit', 'inherit'] })) !== 0) failures += 1;

const isProduct = (path: string) =>
  /^(?:packages|services)\//.test(path) && !/\.test\.ts$|\/testing\/|^packages\/testkit\//.test(path);
const paths = repositoryPaths();
for (const path of paths.filter(path => path.endsWith('.ts') && isProduct(path)))
  for (const { line, lines } of longFunctions(readSource(path).text))
    console.log(`advice: ${path}:${line} a function of ${lines} lines; consider splitting it`);
for (const { of, paths: chosen, most } of words) {
  const texts = paths.filter(path => chosen.test(path)).map(path => readSource(path).text);
  // The bars of a table and the marks of a list are no words.
  const count = texts
    .join(' ')
    .split(/\s+/)
    .filter(word => /[\p{L}\p{N}]/u.test(word)).length;
  if (count <= most) continue;
  console.log(`${of}: ${count} words, at most ${most} (scripts/ratchets.ts)`);
  failures += 1;
}
process.exit(failures === 0 ? 0 : 1);
