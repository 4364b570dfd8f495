/**
 * `pnpm packages [FOLDER]`: builds what is published, and leaves the tarballs in `build/packages`, or in FOLDER. Prints each with its size.
 * The same sources give the same bytes.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { root } from './child.ts';
import { commandLine } from './command-line.ts';
import { buildLibrary } from './packages/library.ts';
import { buildProgram } from './packages/program.ts';
import { demo, gateway, libraries, type PublishedPackage } from './packages/published.ts';

const { positionals } = commandLine({
  usage: 'packages [folder]',
  about:
    'builds what is published, and leaves the tarballs in build/packages or in this folder, which it empties first',
  options: {},
  words: 1,
});
const folder = resolve(positionals[0] ?? join(root, 'build/packages'));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
mkdirSync(join(root, 'build'), { recursive: true });
// Inside the repository, so that the compiler finds the types of Node.js.
const stages = mkdtempSync(join(root, 'build/stage-'));

async function pack<Published extends PublishedPackage>(
  published: Published,
  build: (published: Published, stage: string) => Promise<void>,
): Promise<string> {
  const stage = join(stages, published.name.replace('@postern/', ''));
  mkdirSync(stage);
  await build(published, stage);
  cpSync(join(root, 'LICENSE'), join(stage, 'LICENSE'));
  for (const document of ['README.md', 'CHANGELOG.md']) {
    const path = join(root, published.folder, document);
    if (existsSync(path)) cpSync(path, join(stage, document));
  }
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: stage });
  return stdout.trim();
}

try {
  const packed = await Promise.all([
    ...libraries.map(library => pack(library, buildLibrary)),
    ...[gateway, demo].map(program => pack(program, buildProgram)),
  ]);
  for (const name of packed)
    console.log(`${(statSync(join(folder, name)).size / 1024).toFixed(0).padStart(5)} KiB  ${join(folder, name)}`);
} finally {
  rmSync(stages, { recursive: true, force: true });
}
