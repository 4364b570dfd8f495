import { blocksIn, type DocBlock, titleOf } from './doc-blocks.ts';

export interface ShellCommand {
  readonly title: string;
  readonly command: string;
  /** The output that a `console` block shows after the command. */
  readonly output: string;
}

/** Documents whose blocks other tests run with curl: without-our-library.slow.test.ts and test/admin-api. */
const scripted = ['docs/without-our-library.md', 'docs/admin-api.md'];

/** The commands of the `sh` and `console` blocks of other documents, without prompts and comments. Quotes may span lines. */
export const shellCommands: readonly ShellCommand[] = blocksIn('sh', 'bash', 'console')
  .filter(({ document }) => !scripted.includes(document))
  .flatMap(commandsOf);

function commandsOf(block: DocBlock): ShellCommand[] {
  const commands: { line: number; command: string; output: string[] }[] = [];
  for (const [index, line] of block.body.split('\n').entries()) {
    const isConsole = block.language === 'console';
    const last = commands.at(-1);
    if (last !== undefined && isOpen(last.command)) last.command += `\n${line}`;
    else if (isConsole && !line.startsWith('$ ')) last?.output.push(line);
    else if (line.trim() !== '') {
      const command = (isConsole ? line.slice(2) : line).replace(/\s+# .*$/, '').trim();
      if (command !== '' && !command.startsWith('#')) commands.push({ line: block.line + index, command, output: [] });
    }
  }
  return commands.map(({ line, command, output }) => ({
    title: titleOf({ ...block, line }),
    command,
    output: output.join('\n').trim(),
  }));
}

/** Splits a command into words like a shell; keeps variables unexpanded. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}

function isOpen(command: string): boolean {
  return (command.match(/"/g)?.length ?? 0) % 2 === 1;
}
