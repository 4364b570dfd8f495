/** Commands, files and folders that the documents name must exist. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { root } from './child.ts';

const documents = globSync(['*.md', 'docs/*.md', 'docs/runbooks/*.md', '{packages,services,test}/*/*.md'], {
  cwd: root,
}).sort();
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
const pnpmOwn = ['install', 'exec'];

describe.each(documents)('%s', document => {
  test('names only commands that exist', () => {
    const named = [...read(document).matchAll(/(?:pnpm@12|`pnpm) ([a-z][a-z-]*)\b/g)].map(([, name]) => name ?? '');
    expect(named.filter(name => !(name in scripts) && !pnpmOwn.includes(name))).toEqual([]);
  });

  test('names only files and folders that exist', () => {
    const named = [...read(document).matchAll(/`((?:\.ci|packages|services|scripts|test|infra)\/[\w./-]*)`/g)];
    expect(named.map(([, path]) => path ?? '').filter(path => !existsSync(join(root, path)))).toEqual([]);
  });
});

test.each(documents)('%s links only to files and folders that exist', document => {
  const links = [...read(document).matchAll(/(?:\]\(|(?:src|srcset)=")(?!https?:|#)([^)"#\s]+)/g)].map(
    ([, path]) => path ?? '',
  );
  expect(links.filter(path => !existsSync(join(root, dirname(document), path)))).toEqual([]);
});

test('docs/README.md lists every document of its folder, and README.md has at most 200 lines', () => {
  const index = read('docs/README.md');
  const missing = documents.filter(
    path => /^docs\/(?!README|runbooks\/(?!README))/.test(path) && !index.includes(`(${path.slice(5)})`),
  );
  expect(missing).toEqual([]);
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(200);
});

test('CONTRIBUTING.md lists every command', () => {
  const commands = read('CONTRIBUTING.md').split('## Commands')[1]?.split('## ')[0] ?? '';
  const missing = Object.keys(scripts).filter(name => !new RegExp(`\`${name}(?: \\[|\`)`).test(commands));
  expect(missing).toEqual([]);
});
