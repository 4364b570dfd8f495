import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from './child.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));

const workflowSchema = z.object({
  permissions: z.object({ contents: z.literal('read') }).strict(),
  jobs: z.record(
    z.string(),
    z.object({
      'timeout-minutes': z.number(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(z.object({ uses: z.string().optional(), run: z.string().optional() })),
    }),
  ),
});
const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map(
  path => [path, workflowSchema.parse(parse(read(path)))] as const,
);

test.each(workflows)('%s runs only scripts of this repository and actions of GitHub', (_, { jobs }) => {
  const steps = Object.values(jobs).flatMap(job => job.steps);
  expect(steps.flatMap(({ uses }) => uses ?? []).filter(uses => !uses.startsWith('actions/'))).toEqual([]);
  const commands = steps.flatMap(({ run }) => run ?? []);
  const named = commands.flatMap(command => /^npx -y pnpm@[\d.]+ (\S+)/.exec(command)?.[1] ?? []);
  expect(named.filter(name => scripts[name] === undefined)).toEqual([]);
  const programs = commands.filter(command => command.startsWith('.'));
  expect(programs.filter(program => !existsSync(join(root, program)))).toEqual([]);
});

test.each(workflows)('%s names each action by its commit', (_, { jobs }) => {
  const uses = Object.values(jobs).flatMap(job => job.steps.flatMap(step => step.uses ?? []));
  expect(uses.filter(action => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
});

test('the job that may sign runs no code of this repository or of its dependencies', () => {
  const signing = workflows
    .flatMap(([, { jobs }]) => Object.values(jobs))
    .filter(({ permissions }) => permissions?.['id-token'] === 'write');
  expect(signing).toHaveLength(1);
  const steps = signing.flatMap(job => job.steps);
  expect(steps.flatMap(({ uses }) => uses?.split('@')[0] ?? [])).toEqual([
    'actions/setup-node',
    'actions/download-artifact',
  ]);
  expect(steps.flatMap(({ run }) => run ?? [])).toEqual([
    'for tarball in packages/*.tgz; do npm publish "./$tarball" --access public --provenance --ignore-scripts; done',
  ]);
});

test('only the job that publishes may write, and only its identity', () => {
  const granted = workflows.flatMap(([path, { jobs }]) =>
    Object.values(jobs).flatMap(({ permissions = {} }) =>
      Object.entries(permissions).flatMap(([name, access]) => (access === 'write' ? [`${path} ${name}`] : [])),
    ),
  );
  expect(granted).toEqual(['.github/workflows/release.yml id-token']);
});

test('releases give one version to every package that is published', () => {
  const { fixed } = z.object({ fixed: z.array(z.array(z.string())) }).parse(JSON.parse(read('.changeset/config.json')));
  const manifestSchema = z.object({ name: z.string(), version: z.string().optional(), private: z.literal(true) });
  const manifests = globSync('{packages,services,tools}/*/package.json', { cwd: root }).map(path =>
    manifestSchema.parse(JSON.parse(read(path))),
  );
  const versioned = manifests.filter(({ version }) => version !== undefined);
  expect(fixed.map(group => group.toSorted())).toEqual([versioned.map(({ name }) => name).toSorted()]);
  expect(new Set(versioned.map(({ version }) => version)).size).toBe(1);
});
