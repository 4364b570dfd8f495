import { parseArgs } from 'node:util';
import { createTerminal, inertLine, inertLines, rateLimited, systemBrowser, type Terminal } from '@postern/host';
import { MCP_URL } from '../ports.ts';
import { askToSignIn } from './ask-to-sign-in.ts';
import { connectHost, eras, type HostConnection } from './connect-host.ts';
import { askArguments } from './tool-menu.ts';
import { createWaitingSign, type WaitingSign } from './waiting-sign.ts';

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
  const waiting = createWaitingSign(text => void process.stdout.write(text));
  await using host = await connectHost({
    mcpUrl: values.url,
    era,
    handler: rateLimited(
      async (request, context) => {
        waiting.stop();
        const answer = await terminal.handler(request, context);
        if (request.mode === 'url' && answer.action === 'accept') waiting.start();
        return answer;
      },
      {
        max: 20,
        perMs: 60_000,
        onLimited: () =>
          terminal.tell('', 'The MCP server asks too often. This request was cancelled without asking you.'),
      },
    ),
    completionPrompt: (...awaited) => {
      waiting.stop();
      return terminal.completionPrompt(...awaited);
    },
    openSignIn: url => askToSignIn(terminal, url, openUrl),
  });
  terminal.tell('', `Connected to ${inertLine(host.mcpServerName, 80)} at ${values.url}, MCP ${host.revision}.`);
  const menu = await host.menu();
  for (;;) {
    terminal.tell('', ...menu.map(({ label }, at) => `  ${at + 1}  ${label}`), '  q  quit');
    const choice = await terminal.ask('> ');
    if (choice === undefined || choice === 'q') return 0;
    const entry = /^\d{1,3}$/.test(choice) ? menu[Number(choice) - 1] : undefined;
    if (entry === undefined) {
      const wrong = inertLine(choice, 20);
      terminal.tell(
        '',
        `${wrong === '' ? '' : `“${wrong}” is not in the menu. `}Type a number from 1 to ${menu.length}, or q to quit.`,
      );
      continue;
    }
    const args = await askArguments(entry, question => terminal.ask(question));
    if (args === undefined) terminal.tell('', 'This tool needs an answer. Nothing was called.');
    else await callTool({ terminal, waiting, host }, entry.tool, args);
  }
}

async function callTool(
  { terminal, waiting, host }: { terminal: Terminal; waiting: WaitingSign; host: HostConnection },
  tool: string,
  args: Record<string, unknown>,
): Promise<void> {
  try {
    const { text, isError } = await host.callTool(tool, args);
    waiting.stop();
    const lines = inertLines(text, { maxLines: 40, maxLength: 500 });
    terminal.tell('', `${isError ? 'The tool failed' : 'The tool returned'}:`, ...lines);
  } catch (error) {
    waiting.stop();
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
