/** The repository as files, for the tests about its shape. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from './child.ts';
import { type SourceImport, sourceImports } from './source-imports.ts';

const generated = new Set(['.git', 'node_modules', 'dist', 'build', 'coverage', '.postern']);

export type SourceFile = {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly SourceImport[];
  /** A test, or a file that only tests import. */
  readonly isTest: boolean;
};

export type WorkspacePackage = {
  readonly folder: string;
  readonly name: string;
  /** The dependencies and peerDependencies. */
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
  readonly files: readonly SourceFile[];
};

/** Returns every file of a clone, without generated folders. */
export function repositoryPaths(folder = root): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(entry => !generated.has(entry.name))
    .flatMap(entry => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return repositoryPaths(path);
      return entry.isFile() ? [relative(root, path)] : [];
    });
}

export function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8');
  return {
    path,
    text,
    imports: sourceImports(text),
    isTest: /\.test\.ts$|^test\/|^tools\/(?:bench|foreign|mutations)\//.test(path),
  };
}

export function workspacePackages(): readonly WorkspacePackage[] {
  const paths = repositoryPaths();
  return (
    paths
      // As pnpm-workspace.yaml lists them. Other manifests install programs for a test.
      .filter(path => /^(?:packages|services|tools)\/[^/]+\/package\.json$|^test\/package\.json$/.test(path))
      .map(path => {
        const folder = dirname(path);
        const manifest = readManifest(folder);
        const sources = paths.filter(file => file.startsWith(`${folder}/`) && file.endsWith('.ts'));
        return { folder, ...manifest, files: markTestSupport(sources.map(readSource)) };
      })
  );
}

/** A file without importers is an entry point, not test support. */
function markTestSupport(files: readonly SourceFile[]): readonly SourceFile[] {
  const importers = new Map<string, string[]>(files.map(({ path }) => [path, []]));
  for (const { path, imports } of files)
    for (const { specifier } of imports)
      if (specifier.startsWith('.')) importers.get(join(dirname(path), specifier))?.push(path);
  const tests = new Set(files.filter(({ isTest }) => isTest).map(({ path }) => path));
  const isSupport = ([path, by]: [string, readonly string[]]) =>
    !tests.has(path) && by.length > 0 && by.every(each => tests.has(each));
  let found = [...importers].filter(isSupport);
  while (found.length > 0) {
    for (const [path] of found) tests.add(path);
    found = [...importers].filter(isSupport);
  }
  return files.map(file => ({ ...file, isTest: tests.has(file.path) }));
}

/** Name and dependencies of the package in a folder of the repository. */
export function readManifest(folder: string): Pick<WorkspacePackage, 'name' | 'dependencies' | 'devDependencies'> {
  const manifest: unknown = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  return {
    name: String(field(manifest, 'name')),
    dependencies: ['dependencies', 'peerDependencies'].flatMap(kind => Object.keys(field(manifest, kind) ?? {})),
    devDependencies: Object.keys(field(manifest, 'devDependencies') ?? {}),
  };
}

/** Returns the repository path of a relative import. */
export function resolveRelative(from: string, specifier: string): string {
  const path = join(dirname(from), specifier);
  return existsSync(join(root, path)) ? path : `${path} (missing)`;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
