import { cpSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, runNode } from '../child.ts';
import { packedManifest, readSourceManifest, resolveVersions } from './manifest.ts';
import { makeDeclarationsPlain } from './plain-declarations.ts';
import type { PublishedPackage } from './published.ts';

/** Compiles a library file by file into `dist`, beside a copy of the sources, to which its source maps and declaration maps refer. */
export async function buildLibrary(library: PublishedPackage, stage: string): Promise<void> {
  const source = readSourceManifest(library.folder);
  const entries = Object.entries(source.exports);
  cpSync(join(root, library.folder, 'src'), join(stage, 'src'), {
    recursive: true,
    filter: path => !/\.test\.ts$|\/testing$/.test(path),
  });
  const configuration = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      allowJs: false,
      allowImportingTsExtensions: false,
      stripInternal: true,
      declaration: true,
      declarationMap: true,
      sourceMap: true,
      rootDir: 'src',
      outDir: 'dist',
    },
    include: [],
    files: [...entries.map(([, path]) => path), ...Object.values(source.bin ?? {})],
  };
  const modules = join(stage, 'node_modules');
  const project = join(stage, 'tsconfig.json');
  symlinkSync(join(root, library.folder, 'node_modules'), modules);
  writeFileSync(project, JSON.stringify(configuration));
  const exitCode = await runNode([join(root, 'node_modules/typescript/bin/tsc'), '--project', project]);
  if (exitCode !== 0) throw new Error(`${library.name}: tsc ended with exit code ${exitCode}`);
  makeDeclarationsPlain(join(stage, 'dist'));
  unlinkSync(modules);
  unlinkSync(project);

  const built = {
    exports: {
      ...Object.fromEntries(entries.map(([name, path]) => [name, compiled(path)])),
      './package.json': './package.json',
    },
    ...(source.bin && {
      bin: Object.fromEntries(Object.entries(source.bin).map(([name, path]) => [name, compiled(path).default])),
    }),
    files: ['dist', 'src'],
    dependencies: resolveVersions(source.dependencies, source.version, '^'),
  };
  writeFileSync(
    join(stage, 'package.json'),
    `${JSON.stringify(packedManifest(source, library, built), undefined, 2)}\n`,
  );
}

function compiled(path: string): { readonly types: string; readonly default: string } {
  const base = path.replace(/^\.\/src\//, './dist/').replace(/\.ts$/, '');
  return { types: `${base}.d.ts`, default: `${base}.js` };
}
