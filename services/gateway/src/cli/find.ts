import { type FoundRecords, MAX_TEXT } from '../admin/find.ts';
import { type CliIo, type ExitCode, exitCodes, printable, tableOf, UsageError } from './cli-io.ts';
import type { Command, Invocation } from './command.ts';
import { openAdmin } from './open-admin.ts';
import { filesOf } from './private-files.ts';

/** `postern find`: exits with 1 if nothing is found. */
async function find(p: Invocation, io: CliIo): Promise<ExitCode> {
  const [named] = p.args;
  const text = named?.trim() ?? (await filesOf(io).read('-'));
  if (text === '' || text.length > MAX_TEXT) throw new UsageError(`The text must have 1 to ${MAX_TEXT} characters.`);
  await using opened = await openAdmin(p.configPath, io);
  const found = await opened.admin.find(text);
  io.out(printable(p.json ? `${JSON.stringify(found)}\n` : textOf(found)));
  if (found.asked === 'secret') io.err('That is a secret, not an id: it was not searched. Revoke it.\n');
  if (!found.isComplete) io.err('There are older records or lines that were not searched.\n');
  if (found.hits.length + found.lines.length > 0) return exitCodes.ok;
  if (found.asked === 'request_id')
    io.err('Not in the audit trail. Search the logs of the replicas for it, in requestId.\n');
  return exitCodes.failure;
}

function textOf({ hits, lines }: FoundRecords): string {
  const records = hits.map(of => [of.what, of.id, of.status ?? '-', of.mcpServerId ?? '-', of.at ?? '-']);
  return [
    hits.length === 0 ? 'No records.' : tableOf(['what', 'id', 'status', 'MCP server', 'since'], records),
    ...(lines.length === 0 ? [] : ['', ...lines.map(({ line }) => JSON.stringify(line))]),
    '',
  ].join('\n');
}

export const findCommands: readonly Command[] = [
  {
    name: 'find',
    parameters: ['[text]'],
    about: 'find what a request id, id, match code, reference or pseudonym belongs to; reads standard input without it',
    json: 'document',
    changes: false,
    failure: 'nothing is found',
    run: find,
  },
];
