import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ConformanceCheck } from '../checks.ts';
import type { RequirementId } from '../requirements.ts';
import { type Revision, revisions } from '../revision.ts';
import { clientScenarios } from './scenarios.ts';

const program = join(import.meta.dirname, '../testing/fixture-client.ts');

async function run(name: string, revision: Revision, fault = '', timeoutMs = 60_000) {
  const scenario = clientScenarios.find(each => each.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const command = `FAULT=${fault} '${process.execPath}' '${program}'`;
  return (await scenario.run({ revision, command, timeoutMs })).checks;
}

const idsOf = (checks: readonly ConformanceCheck[], ...statuses: readonly ConformanceCheck['status'][]) =>
  checks.filter(({ status }) => statuses.includes(status)).map(({ id }) => id);

test.each(clientScenarios.flatMap(({ name, revisions: of }) => of.map(revision => [name, revision] as const)))(
  'a correct client passes %s of revision %s',
  async (name, revision) => {
    const checks = await run(name, revision);
    expect(idsOf(checks, 'FAILURE', 'WARNING')).toEqual([]);
    const isDeclared = name === 'url-elicitation-client-accept' && revision === '2025-11-25';
    expect(idsOf(checks, 'SKIPPED')).toEqual(isDeclared ? ['sep-1036-client-undeclared-mode'] : []);
  },
);

const [legacy, modern] = revisions;
const faults: readonly (readonly [string, string, Revision, RequirementId])[] = [
  ['answers-undeclared', 'accept', legacy, 'sep-1036-client-undeclared-mode'],
  ['prefetches', 'accept', legacy, 'sep-1036-client-no-prefetch'],
  ['prefetches', 'decline', modern, 'sep-1036-client-no-prefetch'],
  ['hides-url', 'accept', modern, 'sep-1036-client-shows-url'],
  ['opens-other', 'required-error', legacy, 'sep-1036-client-opens-exact-url'],
  ['sends-content', 'accept', legacy, 'sep-1036-client-response-shape'],
  ['opens-anyway', 'decline', legacy, 'sep-1036-client-consent'],
  ['always-accepts', 'decline', modern, 'sep-1036-client-action'],
  ['believes-every-notice', 'required-error', legacy, 'sep-1036-client-unknown-completion'],
  ['one-request-id', 'accept', modern, 'sep-2322-client-new-id'],
  ['trims-state', 'accept', modern, 'sep-2322-client-state-exact'],
  ['keeps-responses', 'accept', modern, 'sep-2322-client-response-key'],
];

test.each(faults)(
  'finds the fault %s of a client in the scenario %s of revision %s',
  async (fault, name, revision, id) => {
    expect(idsOf(await run(`url-elicitation-client-${name}`, revision, fault), 'FAILURE', 'WARNING')).toContain(id);
  },
);

test('a client that does not declare url mode passes by refusing it, and skips the rest', async () => {
  const checks = await run('url-elicitation-client-accept', legacy, 'undeclared');
  expect(idsOf(checks, 'SUCCESS')).toContain('sep-1036-client-undeclared-mode');
  expect(idsOf(checks, 'FAILURE', 'WARNING')).toEqual([]);
  const refused = await run('url-elicitation-client-accept', modern, 'undeclared');
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set(['SKIPPED']));
});

test('a client that hangs is stopped, and fails', async () => {
  const checks = await run('url-elicitation-client-accept', modern, 'hangs', 500);
  expect(new Set(checks.map(({ status }) => status))).toEqual(new Set(['FAILURE']));
});
