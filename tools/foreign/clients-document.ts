import { markdownTable } from '../../test/support/markdown-table.ts';
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

const shownAs = { handler: 'URL', result: 'result', error: 'error', nothing: 'no link' } as const;
const ends = {
  continued: 'goes on',
  again: 'again',
  never: 'second call fails too',
  hung: 'no answer in time',
  'did not start': 'ended without a result',
} as const;

function cell(experience: Experience | undefined): string {
  if (experience === undefined) return '';
  const { ask, shown, end, revision } = experience;
  if (ask === '2026-07-28' && revision !== ask) return '–';
  return `${shownAs[shown]}, ${ends[end]}`;
}

/** Facts that follow from what was on the wire. */
function remarks(experiences: readonly Experience[]): readonly string[] {
  const spoken = experiences.filter(({ ask, revision }) => ask !== '2026-07-28' || revision === ask);
  const listed = (matches: (experience: Experience) => boolean) => {
    const found = spoken.filter(matches);
    return found.length === spoken.length ? '' : ` (${found.map(({ ask }) => headings[ask]).join('; ')})`;
  };
  const remark = (text: string, matches: (experience: Experience) => boolean) =>
    spoken.some(matches) ? [`${text}${listed(matches)}`] : [];
  return [
    ...remark('no `elicitation.url`', each => !each.declaresUrl),
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
    `${name.replace(/(?<=.)@.*/, '')} ${version} (${date})`,
    ...asks.map(ask => cell(experiences.find(each => each.ask === ask))),
  ]);
  const clientsOf = new Map<string, string[]>();
  for (const {
    packages: [name = ''],
    use,
    note,
    experiences,
  } of known) {
    const facts = [use, ...remarks(experiences), ...(note === undefined ? [] : [note])].join('; ');
    clientsOf.set(facts, [...(clientsOf.get(facts) ?? []), `\`${name.replace(/(?<=.)@.*/, '')}\``]);
  }
  const details = [...clientsOf].map(([facts, names]) => `- ${names.join(', ')}: ${facts}.`);
  return `# Other MCP clients

What a person experiences when a tool built with \`@postern/mcp\` asks them to open a page. \`tools/foreign/main.ts\` installs each client, calls
one tool in every way of asking, and writes this file. The person opens each link, finishes on the page, and calls the tool again if the client
does not. The table describes these versions on that day, and nothing else.

- *URL*: the application gets the URL, and here consents. *result*, *error*: the person or the model gets a text with the link.
- *goes on*: the first call ends with the result. *again*: the second call, by the user, does. *–*: the client does not speak this revision.

${markdownTable(['client, run on', ...asks.map(ask => headings[ask])], rows)}

−32042 alone is for sessions that move between replicas. An application could also read the URL from the error's \`data\`, open it and retry.

How each client was used, and what was seen. A client that declares no \`elicitation.url\` gets a plain link:

${details.join('\n')}
`;
}
