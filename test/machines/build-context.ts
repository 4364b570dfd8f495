import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import dockerignore from '@balena/dockerignore';

/** The files of a folder that a builder receives, by its `.dockerignore`; relative to the folder. */
export function contextFiles(folder: string): readonly string[] {
  // The package is CommonJS with an ES default export in its types only.
  const rules = dockerignore.default().add(readFileSync(join(folder, '.dockerignore'), 'utf8'));
  return walk(folder)
    .map(path => relative(folder, path))
    .filter(path => !rules.ignores(path));
}

/** Copies {@link contextFiles} to `target`. */
export function copyContext(folder: string, target: string): void {
  for (const path of contextFiles(folder)) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(folder, path), join(target, path));
  }
}

/** Installed packages are large, and no image takes them from the context. */
function walk(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && name !== '.git')
    .flatMap(entry => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? walk(path) : [path];
    });
}
