import { type ParseArgsConfig, parseArgs } from 'node:util';

/** An option as `parseArgs` reads it, with the words of the help. */
interface Option {
  readonly type: 'string' | 'boolean';
  readonly about: string;
  readonly default?: string | boolean;
  readonly multiple?: true;
  readonly short?: string;
}

const help = { type: 'boolean', short: 'h', about: 'show this help' } as const;

/** Ends the process because an argument is wrong: one line, and exit code 2. @param message without a full stop */
export function refuseArguments(message: string): never {
  console.error(`${message}. Try --help.`);
  process.exit(2);
}

/**
 * Parses the arguments of a command of this repository. `--help` prints `usage`, `about` and the options, and ends the process. So does a
 * wrong argument, with {@link refuseArguments}.
 * @param p.words maximum number of arguments that are not options; 0 by default
 */
export function commandLine<const Options extends Readonly<Record<string, Option>>>(p: {
  readonly usage: string;
  readonly about: string;
  readonly options: Options;
  readonly words?: number;
}) {
  const parsed = parse({ options: { ...p.options, help }, allowPositionals: true });
  if (parsed.values['help'] === true) {
    const lines = Object.entries({ ...p.options, help }).map(([name, { type, about }]) =>
      `  --${name}${type === 'string' ? '=…' : ''}`.padEnd(24).concat(about),
    );
    console.log(`npx -y pnpm@12 ${p.usage}: ${p.about}\n\n${lines.join('\n')}`);
    process.exit(0);
  }
  const [surplus] = parsed.positionals.slice(p.words ?? 0);
  if (surplus !== undefined) refuseArguments(`Unexpected argument '${surplus}'`);
  return parsed as ReturnType<typeof parseArgs<{ options: Options; allowPositionals: true }>>;
}

function parse(config: ParseArgsConfig) {
  try {
    return parseArgs(config);
  } catch (error) {
    // Further sentences explain parseArgs.
    const [reason = ''] = error instanceof Error ? error.message.split(/\.\s/) : [];
    return refuseArguments(reason);
  }
}
