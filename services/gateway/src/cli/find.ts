import { MAX_FIND_TEXT } from '@postern/api/admin';
import type { AdminOutput } from './admin-door.ts';
import { UsageError } from './cli-io.ts';
import type { Command } from './command.ts';
import { operationCommand, tableWith } from './operation-command.ts';
import { filesOf } from './private-files.ts';

type Found = AdminOutput<'find'>;

const hasNone = ({ hits, lines }: Found): boolean => hits.length + lines.length === 0;

const textOf = ({ hits, lines }: Found): string =>
  [
    hits.length === 0
      ? 'No records.'
      : tableWith(
          [
            ['what', of => of.what],
            ['id', of => of.id],
            ['status', of => of.status],
            ['MCP server', of => of.mcpServerId],
            ['since', of => of.at],
          ],
          hits,
        ),
    ...(lines.length === 0 ? [] : ['', ...lines.map(({ line }) => JSON.stringify(line))]),
    '',
  ].join('\n');

function notesOn(found: Found): readonly string[] {
  return [
    ...(found.asked === 'secret' ? ['That is a secret, not an id: it was not searched. Revoke it.'] : []),
    ...(found.isComplete ? [] : ['There are older records or lines that were not searched.']),
    ...(hasNone(found) && found.asked === 'request_id'
      ? ['Not in the audit trail. Search the logs of the replicas for it, in requestId.']
      : []),
  ];
}

export const findCommands: readonly Command[] = [
  operationCommand({
    operation: 'find',
    name: 'find',
    arguments: { '[text]': 'text' },
    about: 'find what a request id, id, match code, reference or pseudonym belongs to; reads standard input without it',
    async input({ args: [named] }, io) {
      const text = named?.trim() ?? (await filesOf(io).read('-'));
      if (text === '' || text.length > MAX_FIND_TEXT)
        throw new UsageError(`The text must have 1 to ${MAX_FIND_TEXT} characters.`);
      return { text };
    },
    text: textOf,
    notes: notesOn,
    failure: 'nothing is found',
    isFault: hasNone,
  }),
];
