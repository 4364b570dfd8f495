/**
 * Wraps a command line so that the kernel kills the program when this process ends for any reason, including SIGKILL. The process
 * id stays that of the program. Works on Linux with setpriv of util-linux; elsewhere the command line is unchanged.
 */
export function endingWithParent(
  program: string,
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
): readonly [program: string, args: readonly string[]] {
  if (platform !== 'linux') return [program, args];
  // This process may have ended before the signal was set. The program then has another parent.
  const unlessOrphaned = '[ "$PPID" = "$0" ] && exec "$@"';
  return ['setpriv', ['--pdeathsig', 'KILL', 'sh', '-c', unlessOrphaned, String(process.pid), program, ...args]];
}
