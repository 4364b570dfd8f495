#!/usr/bin/env node
/** The program `conformance`: runs the scenarios against an MCP server or an MCP client. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { ConformanceCheck } from './checks.ts';
import { clientScenarios } from './client/scenarios.ts';
import { openByCommand, openByHand } from './person.ts';
import { runPreparation } from './prepare.ts';
import { count, printed, saveResults } from './results.ts';
import { type Revision, revisions } from './revision.ts';
import type { ServerTarget } from './scenario.ts';
import { serverScenarios } from './server/scenarios.ts';
import type { Endpoint } from './wire/endpoint.ts';

const usage = `Usage:
  npx @postern/conformance <mcp-url> --tool NAME [options]   scenarios for an MCP server
  npx @postern/conformance client --command CMD [options]    scenarios for an MCP client
  npx @postern/conformance list                              all scenarios

Options:
  --scenario NAME          only this scenario (repeatable)
  --spec-version VERSION   only this revision: ${revisions.join(', ')} (default: both)
  --output-dir DIR, -o     writes DIR/<scenario>-<time>/checks.json (default: results)
  --timeout MS             for one step of the protocol, or for one run of a client (default: 30000)

For MCP servers:
  --tool NAME              a tool that asks in URL mode
  --arguments JSON         its arguments (default: {})
  --other-arguments JSON   arguments of another call
  --bearer-file FILE       the access token of the user
  --other-bearer-file FILE the access token of another user
  --header LINE            'Name: value', or @FILE with such lines; credentials only in files (repeatable)
  --user-data VALUE        must not be in a URL: an e-mail address, for example (repeatable)
  --open CMD               opens MCP_CONFORMANCE_URL as MCP_CONFORMANCE_PERSON: owner, stranger or anonymous.
                           Exit code 77: cannot. Without it, a person at the terminal is asked.
  --prepare CMD            run before each scenario: forgets what the user did, or writes new token files
  --settle MS              how long to wait for what should not happen (default: 2000)

For MCP clients:
  --command CMD            starts the client; the URL of the MCP server follows
`;

class UsageError extends Error {}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scenario: { type: 'string', multiple: true },
    'spec-version': { type: 'string' },
    'output-dir': { type: 'string', short: 'o', default: 'results' },
    timeout: { type: 'string', default: '30000' },
    tool: { type: 'string' },
    arguments: { type: 'string', default: '{}' },
    'other-arguments': { type: 'string' },
    'bearer-file': { type: 'string' },
    'other-bearer-file': { type: 'string' },
    header: { type: 'string', multiple: true, default: [] },
    'user-data': { type: 'string', multiple: true, default: [] },
    open: { type: 'string' },
    prepare: { type: 'string' },
    settle: { type: 'string', default: '2000' },
    command: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

function milliseconds(name: 'timeout' | 'settle'): number {
  const ms = Number(values[name]);
  if (!Number.isInteger(ms) || ms < 0) throw new UsageError(`--${name} is not a number of milliseconds`);
  return ms;
}

function selectedRevisions(): readonly Revision[] {
  const chosen = values['spec-version'];
  const known = revisions.filter(revision => chosen === undefined || chosen === revision);
  if (known.length === 0) throw new UsageError(`--spec-version is none of ${revisions.join(', ')}`);
  return known;
}

function selected<T extends { readonly name: string }>(all: readonly T[]): readonly T[] {
  const unknown = values.scenario?.filter(name => !all.some(scenario => scenario.name === name)) ?? [];
  if (unknown.length > 0) throw new UsageError(`no scenario ${unknown.join(', ')} (list shows all)`);
  return all.filter(({ name }) => values.scenario?.includes(name) ?? true);
}

function json(name: 'arguments' | 'other-arguments'): Record<string, unknown> | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new UsageError(`--${name} is not a JSON object`);
  }
}

/** Arguments are visible to every user of a machine. */
const SECRET_HEADER = /^(?:authorization|proxy-authorization|cookie|x-api-key)$/i;

function headersOf(bearerFile: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const argument of values.header) {
    const isFile = argument.startsWith('@');
    for (const line of (isFile ? readFileSync(argument.slice(1), 'utf8') : argument).split('\n')) {
      if (line.trim() === '') continue;
      const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):(.*)$/.exec(line.trim()) ?? [];
      if (name === '') throw new UsageError('--header is not "Name: value"');
      if (!isFile && SECRET_HEADER.test(name))
        throw new UsageError(`--header ${name}: put it in a file, and name it as @FILE`);
      headers[name.toLowerCase()] = value.trim();
    }
  }
  if (bearerFile !== undefined) headers['authorization'] = `Bearer ${readFileSync(bearerFile, 'utf8').trim()}`;
  return headers;
}

function serverTarget(url: URL, revision: Revision): ServerTarget {
  if (values.tool === undefined)
    throw new UsageError('--tool is missing: the suite calls no tool that you have not named');
  const endpointOf = (file: string | undefined): Endpoint => ({ url, headers: headersOf(file) });
  const other = values['other-bearer-file'];
  const limitMs = milliseconds('timeout');
  const byHand = process.stdin.isTTY ? openByHand(process.stdin, process.stderr) : undefined;
  return {
    revision,
    endpoint: endpointOf(values['bearer-file']),
    otherEndpoint: other === undefined ? undefined : endpointOf(other),
    tool: values.tool,
    args: json('arguments') ?? {},
    otherArgs: json('other-arguments'),
    userData: values['user-data'],
    openAs: values.open === undefined ? byHand : openByCommand(values.open, 10 * limitMs),
    limitMs,
    settleMs: milliseconds('settle'),
  };
}

const tally: ConformanceCheck[] = [];

async function report(
  name: string,
  revision: Revision,
  checks: readonly ConformanceCheck[],
  files = {},
): Promise<void> {
  tally.push(...checks);
  const folder = await saveResults(values['output-dir'], name, checks, files);
  process.stdout.write(`\n${name} (${revision})\n${printed(checks)}\n${folder}\n`);
}

async function runServer(text: string): Promise<void> {
  if (!URL.canParse(text)) throw new UsageError(`${text} is not a URL`);
  for (const revision of selectedRevisions())
    for (const scenario of selected(serverScenarios).filter(each => each.revisions.includes(revision))) {
      if (values.prepare !== undefined) await runPreparation(values.prepare, scenario.name, revision);
      // Read anew: the preparation may have written other tokens.
      const checks = await scenario.run(serverTarget(new URL(text), revision));
      await report(`server-${scenario.name}`, revision, checks);
    }
}

async function runClient(): Promise<void> {
  const { command } = values;
  if (command === undefined) throw new UsageError('--command is missing');
  const timeoutMs = milliseconds('timeout');
  for (const revision of selectedRevisions())
    for (const scenario of selected(clientScenarios).filter(each => each.revisions.includes(revision))) {
      const { checks, stdout, stderr } = await scenario.run({ revision, command, timeoutMs });
      await report(scenario.name, revision, checks, { 'stdout.txt': stdout, 'stderr.txt': stderr });
    }
}

function list(): void {
  for (const [title, scenarios] of [
    ['Server', serverScenarios],
    ['Client', clientScenarios],
  ] as const) {
    process.stdout.write(`${title} scenarios:\n`);
    for (const { name, description, revisions: of } of scenarios)
      process.stdout.write(`  - ${name} [${of.join(', ')}]\n      ${description}\n`);
  }
}

// A reader such as `head` closes the pipe early. The rest of the text is dropped, and the run goes on.
process.stdout.on('error', error => {
  if (!('code' in error) || error.code !== 'EPIPE') throw error;
});
try {
  const [first, second] = positionals;
  if (values.help || first === undefined) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 2;
  } else if (first === 'list') list();
  else {
    await (first === 'client' ? runClient() : runServer(first === 'server' ? (second ?? '') : first));
    const failed = count(tally, 'FAILURE');
    const rest = `${count(tally, 'WARNING')} warnings, ${count(tally, 'SKIPPED')} skipped`;
    process.stdout.write(`\n${count(tally, 'SUCCESS')} passed, ${failed} failed, ${rest}\n`);
    process.exitCode = failed + count(tally, 'WARNING') === 0 ? 0 : 1;
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
