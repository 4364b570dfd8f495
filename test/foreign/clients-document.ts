import { markdownTable } from '../support/markdown-table.ts';
import { foreignClients } from './foreign-clients.ts';
import { type Ask, asks, type Experience } from './play-client.ts';

/** The last run of one client. */
export interface ClientRecord {
  readonly version: string;
  /** Day of the run, as in ISO 8601. */
  readonly date: string;
  readonly experiences: readonly Experience[];
}

const headings: Readonly<Record<Ask, string>> = {
  '-32042': '2025-11-25, −32042 alone',
  push: '2025-11-25, push, then −32042',
  'plain link': '2025-11-25, plain link',
  '2026-07-28': '2026-07-28',
};

const shownAs = {
  handler: 'application gets the URL',
  result: 'link in the result',
  error: 'link in the error',
  nothing: 'no link',
} as const;
const ends = {
  continued: 'goes on by itself',
  again: 'user calls again',
  never: 'second call fails too',
  hung: 'no answer in time',
  'did not start': 'ended without a result',
} as const;

function cell(experience: Experience | undefined): string {
  if (experience === undefined) return '';
  const { ask, shown, end, revision } = experience;
  if (ask === '2026-07-28' && revision !== ask) return 'does not speak it';
  return `${shownAs[shown]}, ${ends[end]}`;
}

/** Facts that follow from what was on the wire. */
function remarks(experiences: readonly Experience[]): readonly string[] {
  const spoken = experiences.filter(({ ask, revision }) => ask !== '2026-07-28' || revision === ask);
  const listed = (matches: (experience: Experience) => boolean) => {
    const found = spoken.filter(matches);
    return found.length === spoken.length ? 'always' : found.map(({ ask }) => headings[ask]).join('; ');
  };
  const remark = (text: string, matches: (experience: Experience) => boolean) =>
    spoken.some(matches) ? [`${text} (${listed(matches)})`] : [];
  return [
    ...remark('Declares no `elicitation.url`: the MCP server sends a plain link', each => !each.declaresUrl),
    ...remark('The link does not reach the person', each => each.shown === 'nothing' && each.end !== 'continued'),
    ...spoken.flatMap(({ ask, responses }) =>
      responses.flatMap(response => {
        const [, code] = /^\{"code":(-?\d+)/.exec(response) ?? [];
        return code === undefined ? [] : [`Answers \`elicitation/create\` with error ${code} (${headings[ask]})`];
      }),
    ),
    ...remark('No answer within the time limit', each => each.end === 'hung'),
    ...remark('The client ended without a result', each => each.end === 'did not start'),
  ];
}

/** `docs/clients.md` */
export function clientsDocument(records: Readonly<Record<string, ClientRecord>>): string {
  const known = foreignClients.flatMap(client => {
    const record = records[client.name];
    return record === undefined ? [] : [{ ...client, ...record }];
  });
  const rows = known.map(({ packages: [name = ''], version, date, experiences }) => [
    `${name.replace(/(?<=.)@.*/, '')} ${version}`,
    date,
    ...asks.map(ask => cell(experiences.find(each => each.ask === ask))),
  ]);
  const details = known.map(({ packages: [name = ''], version, use, note, date, experiences }) => {
    const lines = [...remarks(experiences), ...(note === undefined ? [] : [note])].map(remark => `- ${remark}.`);
    const title = `${name.replace(/(?<=.)@.*/, '')} ${version}`;
    return [`### ${title}`, '', `Run on ${date}, ${use}.`, ...(lines.length === 0 ? [] : ['', ...lines])].join('\n');
  });
  return `# Other MCP clients

What a person experiences when a tool of an MCP server built with \`@postern/mcp\` asks them to open a page. A program
(\`test/foreign/main.ts\`) installs the newest version of each client, calls one tool in every way of asking, and writes this file. A
person opens each link that they are shown, finishes on the page, and calls the tool again if the client does not. The table describes
these versions on the day of the run, and nothing else.

- *application gets the URL*: the client hands the request to a handler of its application. Here the handler consents.
- *link in the result*, *link in the error*: the person or the model gets a text with the link.
- *goes on by itself*: the first call ends with the result. *User calls again*: the second call does.

${markdownTable(['client', 'run on', ...asks.map(ask => headings[ask])], rows)}

The MCP server pushes first; −32042 alone is for sessions that move between replicas. It repeats the link in the text of −32042. An
application could also read the URL from the error's \`data\`, open it and retry. The applications in this run only show what the client
gives them.

## What was seen

${details.join('\n\n')}
`;
}
