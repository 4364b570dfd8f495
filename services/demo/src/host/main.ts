import { parseArgs } from 'node:util';
import { createTerminal, inertLine, inertLines, rateLimited, systemBrowser, type Terminal } from '@postern/host';
import { MCP_URL } from '../ports.ts';
import { askToSignIn } from './ask-to-sign-in.ts';
import { connectHost, eras, type HostConnection } from './connect-host.ts';
import { askArguments } from './tool-menu.ts';

/** A small MCP host for the terminal, for any MCP server. `--url` names the MCP server, `--era` the revision it speaks. */
const usage = `usage: [--url ${MCP_URL}] [--era ${eras.join('|')}]`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { url: { type: 'string', default: MCP_URL }, era: { type: 'string', default: eras[0] } },
  });
  const era = eras.find(candidate => candidate === values.era);
  if (era === undefined || URL.parse(values.url) === null) throw new TypeError(usage);

  const openUrl = systemBrowser();
  using terminal = createTerminal({ openUrl });
  await using host = await connectHost({
    mcpUrl: values.url,
    era,
    handler: rateLimited(terminal.handler, {
      max: 20,
      perMs: 60_000,
      onLimited: () =>
        terminal.tell('', 'The MCP server asks too often. This request was cancelled without asking you.'),
    }),
    completionPrompt: terminal.completionPrompt,
    openSignIn: url => askToSignIn(terminal, url, openUrl),
  });
  terminal.tell('', `Connected to ${inertLine(host.mcpServerName, 80)} at ${values.url}, MCP ${host.revision}.`);
  const menu = await host.menu();
  for (;;) {
    terminal.tell('', ...menu.map(({ label }, at) => `  ${at + 1}  ${label}`), '  q  quit');
    const choice = await terminal.ask('> ');
    if (choice === undefined || choice === 'q') return 0;
    const entry = menu[Number(choice) - 1];
    if (entry === undefined) {
      terminal.tell('', `There is no ${inertLine(choice, 20)}. Type a number from 1 to ${menu.length}, or q.`);
      continue;
    }
    const args = await askArguments(entry, question => terminal.ask(question));
    if (args === undefined) terminal.tell('', 'This tool needs an answer. Nothing was called.');
    else await callTool(terminal, host, entry.tool, args);
  }
}

async function callTool(
  terminal: Terminal,
  host: HostConnection,
  tool: string,
  args: Record<string, unknown>,
): Promise<void> {
  try {
    const { text, isError } = await host.callTool(tool, args);
    const lines = inertLines(text, { maxLines: 40, maxLength: 500 });
    terminal.tell('', `${isError ? 'The tool failed' : 'The tool returned'}:`, ...lines);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    terminal.tell('', `The call failed: ${inertLine(error.message)}`);
  }
}

main().then(
  exitCode => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? inertLine(error.message) : usage}\n`);
    process.exitCode = 1;
  },
);
