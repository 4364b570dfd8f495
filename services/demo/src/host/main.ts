import { parseArgs } from 'node:util';
import { MCP_URL } from '../ports.ts';
import { connectHost, eras } from './host.ts';
import { printable, printableLines } from './show-url.ts';
import { createTerminalUser } from './terminal-user.ts';

/** A small MCP host for the terminal. `--url` names the MCP server, `--era` the revision it speaks. */
const usage = `usage: demo:host [--url ${MCP_URL}] [--era ${eras.join('|')}]`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { url: { type: 'string', default: MCP_URL }, era: { type: 'string', default: eras[0] } },
  });
  const era = eras.find(candidate => candidate === values.era);
  if (era === undefined || URL.parse(values.url) === null) throw new TypeError(usage);

  const user = createTerminalUser({ mcpUrl: values.url });
  try {
    await using host = await connectHost({ mcpUrl: values.url, era, user });
    user.tell(`\nConnected to ${printable(host.mcpServerName)} at ${values.url}, MCP ${host.revision}.`);
    for (;;) {
      user.tell('\n  1  list my repositories\n  2  create an issue\n  q  quit');
      const choice = await user.ask('> ');
      if (choice === undefined || choice === 'q') return 0;
      const call = await chooseCall(choice, user.ask);
      if (call === undefined) continue;
      const { text, isError } = await host.callTool(call.name, call.args);
      user.tell(`\n${isError ? 'The tool could not do it' : 'The tool answered'}:\n${printableLines(text)}`);
    }
  } finally {
    user.close();
  }
}

async function chooseCall(choice: string, ask: (question: string) => Promise<string | undefined>) {
  if (choice === '1') return { name: 'list_repositories', args: {} };
  if (choice !== '2') return undefined;
  const repository = await ask('Repository (as in the list): ');
  const title = await ask('Title: ');
  return repository && title ? { name: 'create_issue', args: { repository, title } } : undefined;
}

main().then(
  exitCode => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? printable(error.message) : usage}\n`);
    process.exitCode = 1;
  },
);
