import type { CliIo, ExitCode } from '../cli/cli-io.ts';
import { runCli } from '../cli/run-cli.ts';

/**
 * Runs a `postern` command in this process, without a terminal, and returns its exit code and what it printed.
 * @param io of the command; its streams get each text as it is printed
 */
export async function runCommand(
  args: readonly string[],
  io: Partial<CliIo> = {},
): Promise<{ readonly code: ExitCode; readonly out: string; readonly err: string }> {
  let [out, err] = ['', ''];
  const code = await runCli(args, {
    env: {},
    isTerminal: false,
    signal: new AbortController().signal,
    ...io,
    out(text) {
      out += text;
      io.out?.(text);
    },
    err(text) {
      err += text;
      io.err?.(text);
    },
  });
  return { code, out, err };
}
