/**
 * Wraps a command line so that the kernel kills the program when this process ends for any reason, SIGKILL included. The process id
 * stays that of the program. On Linux, with setpriv of util-linux; elsewhere the command line is returned unchanged.
 */
export function endingWithParent(
  program: string,
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
): readonly [program: string, args: readonly string[]] {
  if (platform !== 'linux') return [program, args];
  // This process may have ended before the signal was asked for: then there is another parent.
  const unlessOrphaned = '[ "$PPID" = "$0" ] && exec "$@"';
  return ['setpriv', ['--pdeathsig', 'KILL', 'sh', '-c', unlessOrphaned, String(process.pid), program, ...args]];
}
