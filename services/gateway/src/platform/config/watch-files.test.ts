import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { watchFiles } from './watch-files.ts';

async function stage() {
  const directory = await mkdtemp(join(tmpdir(), 'postern-watch-'));
  const path = join(directory, 'config.yaml');
  await writeFile(path, 'first');
  let changes = 0;
  const watch = watchFiles({
    files: () => [path, join(directory, 'secret')],
    onChange() {
      changes += 1;
    },
    intervalMs: 5,
  });
  await watch.begin();
  return {
    directory,
    path,
    until: (count: number) => vi.waitFor(() => expect(changes).toBe(count), { timeout: 10_000, interval: 2 }),
    async [Symbol.asyncDispose]() {
      await watch[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

it('notices a file that is written, replaced, and one that appears', async () => {
  await using files = await stage();
  await writeFile(files.path, 'second text');
  await files.until(1);
  await writeFile(`${files.path}~`, 'third');
  await rename(`${files.path}~`, files.path);
  await files.until(2);
  await writeFile(join(files.directory, 'secret'), 'new');
  await files.until(3);
});

it('notices when a symbolic link leads to another file, as Kubernetes updates a ConfigMap', async () => {
  await using files = await stage();
  await writeFile(join(files.directory, 'one'), 'same');
  await rm(files.path);
  await symlink(join(files.directory, 'one'), files.path);
  await files.until(1);
  await writeFile(join(files.directory, 'two'), 'same');
  await symlink(join(files.directory, 'two'), `${files.path}~`);
  await rename(`${files.path}~`, files.path);
  await files.until(2);
});

it('does not look at the files before its caller begins', async () => {
  let looks = 0;
  await using _watch = watchFiles({
    files() {
      looks += 1;
      return [];
    },
    onChange: () => undefined,
  });
  expect(looks).toBe(0);
});
