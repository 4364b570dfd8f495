import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { sharedBrowser } from '@postern/testkit/chromium';
import { freePort } from '@postern/testkit/processes';
import { vi } from 'vitest';
import { startDevProcess } from '../quick-start/dev-process.ts';
import { newPerson } from '../support/browser.ts';
import { startTerminalProcess } from '../support/terminal-process.ts';
import { runIn } from './consumer.ts';

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
const section = /^## Quick start$(.*?)^## /ms.exec(readme)?.[1] ?? '';

/** The commands and the program of the section, in the order of the document. */
export const quickStart = {
  commands: [...section.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n')),
  program: /```js\n(.*?)```/s.exec(section)?.[1] ?? '',
};

/**
 * Follows the quick start in a folder where its packages are installed: as README has it, on free ports. A browser plays the user.
 * Returns what the programs have printed, the terminal host for two calls of the tool.
 */
export async function playQuickStart(folder: string, node: string) {
  const port = await freePort();
  const ports = { '4480': port, '4481': port + 1, '3000': await freePort() };
  const onFreePorts = (text: string) =>
    Object.entries(ports).reduce((result, [known, free]) => result.replaceAll(`:${known}`, `:${free}`), text);
  const { DISPLAY: _, WAYLAND_DISPLAY: __, NODE_PATH: ___, ...rest } = process.env;
  // Also npx needs no redis-server.
  const env = { ...rest, PATH: [dirname(node), pathWithout(join(folder, 'programs'), 'redis-server')].join(delimiter) };
  const [, dev = '', start = '', host = ''] = quickStart.commands;
  const wordsOf = (command: string): [string, ...string[]] => {
    const [program = '', ...args] = command.split(' ');
    return [program, ...args];
  };

  await using gateway = await startDevProcess(folder, [...wordsOf(dev), '--port', String(port)], env);
  const program = onFreePorts(quickStart.program).replace('listen(3000,', `listen(${ports['3000']},`);
  writeFileSync(join(folder, 'server.mjs'), program);
  await using mcpServer = startTerminalProcess(wordsOf(start), folder, env);
  const mcpUrl = `http://127.0.0.1:${ports['3000']}/mcp`;
  await vi.waitUntil(() => fetch(mcpUrl).catch(() => undefined), { timeout: 300_000 });
  await using terminal = startTerminalProcess(wordsOf(onFreePorts(host)), folder, env);
  await using person = await newPerson(await sharedBrowser(), 'me');
  await terminal.answer('> ', '1');
  await terminal.answer('c = cancel: ', 'y');
  const url = /Address:\s+(\S+)/.exec(terminal.printed())?.[1] ?? '';
  await person.page.goto(url);
  await person.page.locator('form[action$="/accept"] button').click();
  await person.page.getByRole('button', { name: 'Allow' }).click();
  await terminal.waitFor('The tool returned:');
  await terminal.answer('> ', '1');
  await terminal.waitFor('> ');
  return { terminal: terminal.printed(), others: gateway.printed() + mcpServer.printed() };
}

/** The search path of this process without a program: links to all others, in folders below `to`, replace the folders that have it. */
function pathWithout(to: string, program: string): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders
    .map((folder, nth) => {
      if (!existsSync(join(folder, program))) return folder;
      const replaced = join(to, String(nth));
      mkdirSync(replaced, { recursive: true });
      for (const name of readdirSync(folder))
        if (name !== program) symlinkSync(join(folder, name), join(replaced, name));
      return replaced;
    })
    .join(delimiter);
}

/** Installs what the first command names, and the programs that npx would install. */
export async function installQuickStart(folder: string): Promise<void> {
  const [first = ''] = quickStart.commands;
  const [program = '', ...args] = first.split(' ');
  await runIn(folder, program, [...args, '--no-audit', '--no-fund', '--prefer-offline']);
  await runIn(folder, program, [
    'install',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    '@postern/gateway',
    '@postern/demo',
  ]);
}
