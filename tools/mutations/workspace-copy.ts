import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from '../../scripts/child.ts';
import { repositoryPaths } from '../../scripts/source-tree.ts';

/** A copy of the repository for faults, so that the working tree never contains one. */
export type WorkspaceCopy = { readonly folder: string } & Disposable;

/**
 * Copies every source file. Libraries are shared with the original. The links between workspace packages are relative, so
 * those of the copy lead to the packages of the copy.
 */
export function copyWorkspace(): WorkspaceCopy {
  const folder = mkdtempSync(join(tmpdir(), 'postern-mutations-'));
  for (const path of repositoryPaths()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, path));
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const owner of ['test', ...globSync('{packages,services,tools}/*', { cwd: root })]) {
    const links = join(root, owner, 'node_modules');
    if (existsSync(links))
      cpSync(links, join(folder, owner, 'node_modules'), { recursive: true, verbatimSymlinks: true });
  }
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
