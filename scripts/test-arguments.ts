/** Selects tests and reporters from the arguments of `pnpm test`. */
export interface TestRun {
  /** `short`: the run without a path, of three and a half minutes; `full`: every test, or every test whose path was named. */
  readonly size: 'short' | 'full';
  readonly vitestArguments: readonly string[];
}

/** Options of vitest that take their value as the next word, so that word names no path. */
const WITH_VALUE = ['-t', '--testNamePattern', '--reporter', '--shard', '--bail', '--retry', '--maxWorkers'];

export function testRunOf(args: readonly string[]): TestRun {
  const vitestArguments = args.filter(arg => arg !== '--all');
  const isPath = (arg: string, at: number) =>
    !arg.startsWith('-') && !WITH_VALUE.includes(vitestArguments[at - 1] ?? '');
  const isFull = vitestArguments.length < args.length || vitestArguments.some(isPath);
  return {
    size: isFull ? 'full' : 'short',
    vitestArguments: vitestArguments.some(arg => arg.startsWith('--reporter'))
      ? vitestArguments
      : ['--reporter=default', ...vitestArguments],
  };
}
