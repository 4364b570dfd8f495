/** `pnpm lint`: Biome, then knip over everything and over product code alone. Names long files without failing. */
import { join } from 'node:path';
import { root, runNode } from './child.ts';
import { readSource, repositoryPaths } from './source-tree.ts';

const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
const knip = join(root, 'node_modules/knip/bin/knip.js');
const product = ['--production', '--include', 'files,exports,duplicates', '-W', '!packages/testkit', '-W', '!test'];

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
for (const path of repositoryPaths().filter(path => /\.(?:ts|lua)$/.test(path))) {
  const lines = readSource(path).text.split('\n').length - 1;
  if (lines > (isProduct(path) ? 300 : 400)) console.log(`advice: ${path} has ${lines} lines; consider splitting it`);
}
process.exit(failures === 0 ? 0 : 1);
