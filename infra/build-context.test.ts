import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../scripts/child.ts';
import { readSource, resolveRelative } from '../scripts/source-tree.ts';
import { contextFiles, copyContext } from '../test/machines/build-context.ts';
import { readDockerfile } from '../test/machines/dockerfile.ts';

const stages = readDockerfile(readFileSync(join(root, 'infra/Dockerfile'), 'utf8'));
const context = new Set(contextFiles(root));

test('the build context contains no tests, no secrets and no installed packages', () => {
  const unwanted = [...context].filter(path => /\.test\.ts$|(?:^|\/)(?:\.env|node_modules|\.git)(?:\/|$)/.test(path));
  expect(unwanted).toEqual([]);
});

const scripts = stages.flatMap(({ name, steps }) =>
  steps
    .flatMap(step => {
      if (step.kind === 'run') return step.command.split(/\s+/);
      return step.kind === 'cmd' || step.kind === 'healthcheck' ? step.command : [];
    })
    .filter(word => word.endsWith('.ts'))
    .map(script => [name, script] as const),
);

test('the Dockerfile names the scripts that build and start the images', () => {
  expect(scripts.map(([, script]) => script)).toEqual(['scripts/packages/image.ts', 'tools/demo/src/main.ts']);
});

const bundled = ['gateway', 'services/gateway/src/postern.ts'] as const;

test.each([...scripts, bundled])(
  '%s: the build context contains %s and every file of ours that it imports',
  (_stage, script) => {
    expect([...importClosure(script)].filter(path => !context.has(path))).toEqual([]);
  },
);

test.each(['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'LICENSE'])(
  'the build context contains %s',
  path => {
    expect(context).toContain(path);
  },
);

test('copyContext() copies the files that .dockerignore admits, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-context-'));
  try {
    mkdirSync(join(folder, 'in/kept'), { recursive: true });
    writeFileSync(join(folder, 'in/.dockerignore'), '*\n!kept\n**/*.test.ts\n');
    for (const file of ['kept/a.ts', 'kept/a.test.ts', 'secret.env']) writeFileSync(join(folder, 'in', file), '');
    copyContext(join(folder, 'in'), join(folder, 'out'));
    expect(readdirSync(join(folder, 'out'), { recursive: true })).toEqual(['kept', 'kept/a.ts']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A file with every file of the repository that it imports at run time, at once or later. */
function importClosure(start: string, found = new Set<string>()): Set<string> {
  if (found.has(start)) return found;
  found.add(start);
  if (!start.endsWith('.ts')) return found;
  for (const { specifier, typeOnly } of readSource(start).imports) {
    if (typeOnly) continue;
    if (specifier.startsWith('.')) importClosure(resolveRelative(start, specifier), found);
    else if (specifier.startsWith('@postern/')) importClosure(resolvePackage(start, specifier), found);
  }
  return found;
}

function resolvePackage(from: string, specifier: string): string {
  const path = createRequire(join(root, dirname(from), 'x.js')).resolve(specifier);
  return relative(root, path);
}
