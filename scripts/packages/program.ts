import { cpSync, existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { root } from '../child.ts';
import { packedManifest, readDependencies, readPeers, readSourceManifest, resolveVersions } from './manifest.ts';
import { gateway, type PublishedProgram } from './published.ts';

/**
 * Builds a program, the only thing that its package offers. Bundles it with the packages of this repository that it imports.
 * Dependencies from the registry stay dependencies, each in the version that the tests run with.
 */
export async function buildProgram(published: PublishedProgram, stage: string): Promise<void> {
  const { source, dependencies: all, schemas } = await compileProgram(published, stage);
  // Only the image installs what most configurations do without.
  const peers = source.peerDependencies ?? {};
  const dependencies = Object.fromEntries(Object.entries(all).filter(([name]) => !Object.hasOwn(peers, name)));
  const built = {
    exports: {
      ...Object.fromEntries(schemas.map(name => [`./${name}`, `./${name}`])),
      './package.json': './package.json',
    },
    bin: { [published.program]: `dist/${published.program}.js` },
    files: ['dist', ...schemas],
    dependencies: resolveVersions(sorted(dependencies), source.version, ''),
  };
  writeFileSync(
    join(stage, 'package.json'),
    `${JSON.stringify(packedManifest(source, published, built), undefined, 2)}\n`,
  );
}

/**
 * Writes what runs to `stage`: the bundle in `dist`, and the schema of its configuration. Returns the dependencies from the registry, as
 * declared, and the names of the schemas.
 */
export async function compileProgram({ folder, program }: PublishedProgram, stage: string) {
  const source = readSourceManifest(folder);
  const folders = [folder, ...internalFolders(folder)];
  const dependencies = Object.fromEntries(
    folders.flatMap(each => Object.entries(readDependencies(each))).filter(([, range]) => !isInternal(range)),
  );
  const dist = join(stage, 'dist');
  // A peer may be missing where the program runs, so it is never part of the bundle.
  const peers = folders.flatMap(each => Object.keys(readPeers(each)));
  await bundle({ folder, program }, [...Object.keys(dependencies), ...peers], dist);
  copyFiles(folders, source.version, join(dist, FILES));
  const schemas = globSync('*.schema.json', { cwd: join(root, folder) });
  for (const name of schemas) cpSync(join(root, folder, name), join(stage, name));
  return { source, dependencies, schemas };
}

/** The folder in `dist` for files that modules read. Each keeps its path in the repository. */
const FILES = 'files';

function sorted(record: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const isInternal = (range: string): boolean => range.startsWith('workspace:');

/** @throws TypeError for a name that is no package of this repository */
function folderOf(name: string): string {
  const parents = ['packages', 'services', 'tools'];
  const folder = parents.map(parent => name.replace('@postern', parent)).find(path => existsSync(join(root, path)));
  if (folder === undefined) throw new TypeError(`${name} is no package of this repository`);
  return folder;
}

/** The folders of all packages of this repository that a package needs, found through the manifests. */
function internalFolders(needing: string, found = new Set<string>()): readonly string[] {
  for (const [name, range] of Object.entries(readDependencies(needing))) {
    if (!isInternal(range)) continue;
    const folder = folderOf(name);
    if (found.has(folder)) continue;
    found.add(folder);
    internalFolders(folder, found);
  }
  return [...found];
}

async function bundle(
  { folder, program }: Omit<PublishedProgram, 'name'>,
  external: readonly string[],
  dist: string,
): Promise<void> {
  const sources = join(root, folder, 'src');
  const build = await rolldown({
    input: { [program]: join(sources, `${program}.ts`) },
    platform: 'node',
    // Node.js 24 is the oldest that the package declares.
    transform: { target: 'node24' },
    external: id => external.includes(packageName(id)) || id.startsWith('node:'),
    plugins: [fileUrls],
  });
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await build.close();
  const unlisted = output
    .flatMap(each => (each.type === 'chunk' ? [...each.imports, ...each.dynamicImports] : []))
    .filter(id => !id.startsWith('node:') && !output.some(({ fileName }) => fileName === id))
    .filter(id => !external.includes(packageName(id)));
  if (unlisted.length > 0) throw new Error(`imported, but not a dependency of ${folder}: ${unlisted.join(', ')}`);
}

function packageName(id: string): string {
  return id.split('/', id.startsWith('@') ? 2 : 1).join('/');
}

/**
 * Makes a module find the files that it reads: as if it were in `dist/files`, in the folder that it has in the repository. A TypeScript
 * file is the module of a thread: it becomes a chunk.
 */
const fileUrls: Plugin = {
  name: 'file-urls',
  transform: {
    filter: { code: /new URL\([^;]*import\.meta\.url\)/ },
    handler(code, id) {
      const module = `new URL(${JSON.stringify(`./${FILES}/${relative(root, id)}`)}, import.meta.url)`;
      const located = code.replaceAll(/\bimport\.meta\.url\b/g, module);
      const isThread = /new URL\('([\w-]+)\.ts', (new URL\([^)]*\))\)/g;
      return {
        code: located.replaceAll(isThread, (_, name: string) => {
          const fileName = `${name}.js`;
          this.emitFile({ type: 'chunk', id: join(dirname(id), `${name}.ts`), fileName });
          // All chunks are in one folder.
          return `new URL('./${fileName}', import.meta.url)`;
        }),
      };
    },
  },
};

/** Copies the files that modules read at run time: those beside the sources that are not sources, and the version. */
function copyFiles(folders: readonly string[], version: string, target: string): void {
  const pattern = `{${folders.join(',')}}/src/**/*.{css,js,lua,txt}`;
  const exclude = (path: string) => /\/testing(?:\/|$)/.test(path);
  for (const path of globSync(pattern, { cwd: root, exclude })) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(root, path), join(target, path));
  }
  // Its version is all that the gateway reads.
  mkdirSync(join(target, gateway.folder), { recursive: true });
  writeFileSync(join(target, gateway.folder, 'package.json'), `${JSON.stringify({ version })}\n`);
}
