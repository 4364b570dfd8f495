/** Commands, files and folders that the documents name must exist. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { root } from './child.ts';

const documents = globSync(['*.md', 'docs/*.md', 'docs/runbooks/*.md', '{packages,services,tools,test}/*/*.md'], {
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
    const named = [
      ...read(document).matchAll(
        /`((?:\.ci|packages|services|tools(?!\/(?:call|list)`)|scripts|test|infra)\/[\w./-]*)`/g,
      ),
    ];
    expect(named.map(([, path]) => path ?? '').filter(path => !existsSync(join(root, path)))).toEqual([]);
  });
});

/** What users of the packages read: they have no checkout. CONTRIBUTING.md and the READMEs of inner packages are for developers. */
const forUsers = documents.filter(path =>
  /^(?:README\.md|docs\/.*|services\/gateway\/README\.md|packages\/(?:api|mcp|host|conformance)\/README\.md)$/.test(
    path,
  ),
);
/** With a clone, these two are the way to try Postern. */
const ofTheClone = ['npx -y pnpm@12 demo', 'npx -y pnpm@12 test'];

test.each(forUsers)('%s has only commands that users of the packages have', document => {
  const text = read(document);
  const named = [...text.matchAll(/(?:npx -y )?\bpnpm(?:@[\d.]+)? [a-z-][\w-]*/g)].map(([command]) => command);
  expect(named.filter(command => document !== 'README.md' || !ofTheClone.includes(command))).toEqual([]);
  // Without an installed @postern/gateway, npx would fetch the package "postern", which is not ours.
  expect(text.match(/\bnpx (?:-y )?postern\b.*/g) ?? []).toEqual([]);
  // Files of the checkout: a program of ours is in a package.
  const blocks = [...text.matchAll(/^ *```(?:sh|console)\n([\s\S]*?)^ *```/gm)].map(([, block]) => block ?? '');
  expect(blocks.flatMap(block => block.match(/\b(?:services|packages|tools|scripts|test)\/\S*\.ts\b/g) ?? [])).toEqual(
    [],
  );
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
