import { createInterface, type Interface } from 'node:readline/promises';
import type { HostUser } from './host.ts';
import { openInBrowser } from './open-in-browser.ts';
import { formatUrl, inspectUrl, printable } from './show-url.ts';

export interface TerminalUser extends HostUser {
  /** One answer, trimmed; undefined when the input has ended. */
  ask(question: string): Promise<string | undefined>;
  close(): void;
}

/** The person at this terminal. */
export function createTerminalUser(p: { mcpUrl: string }): TerminalUser {
  const { stdin, stdout } = process;
  const lines: Interface = createInterface({ input: stdin, output: stdout, terminal: stdin.isTTY && stdout.isTTY });
  const colour = stdout.isTTY && !process.env['NO_COLOR'];
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  const tell = (text: string) => void stdout.write(`${text}\n`);

  // Lines that come in while nothing is asked are dropped on purpose: typing ahead must not say yes to a URL nobody has seen.
  async function ask(question: string, signal = ended.signal): Promise<string | undefined> {
    if (signal.aborted) return undefined;
    try {
      return (await lines.question(question, { signal })).trim();
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  return {
    tell,
    ask: question => ask(question),
    close: () => lines.close(),

    async askToOpen({ purpose, url, message }) {
      const shown = inspectUrl(url);
      tell('');
      tell(
        purpose === 'sign-in'
          ? `To use ${new URL(p.mcpUrl).host} you sign in at this address:`
          : `The MCP server at ${new URL(p.mcpUrl).host} asks you to open a page. It says: “${printable(message)}”`,
      );
      if (shown === undefined) {
        tell('  This is not a web address, so it is not opened.');
        return 'decline';
      }
      tell(formatUrl(shown, { colour }));
      const answer = await ask('Open it in your browser? [y/n] ');
      if (answer === undefined) return 'cancel';
      if (!/^y(es)?$/i.test(answer)) return 'decline';
      if (!(await openInBrowser(shown.href)))
        tell('No browser could be started from here: please open the address yourself.');
      return 'accept';
    },

    async impatience(signal) {
      // Without anybody to press a key, only the notice or Ctrl-C ends the wait.
      const answer = await ask('(Enter: do not wait any longer) ', AbortSignal.any([signal, ended.signal]));
      if (answer === undefined) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
    },
  };
}
