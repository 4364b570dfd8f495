import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A folder with a system in it, and how a program in it runs. */
export interface Inside {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir?: string;
  /** Runs as this user, without capabilities and without a way to any. Default: as root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Nothing in the folder can be written but what is mounted, and /tmp, which is empty. */
  readonly readOnly?: boolean;
  readonly mounts?: readonly Mount[];
  /** Every process that the program leaves behind ends with it. Signals do not reach the program then. */
  readonly isolated?: boolean;
  /** In front of the command line, such as `ip netns exec name`: it replaces itself. */
  readonly launcher?: readonly string[];
}

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/**
 * $1 the folder, $2 `ro` or `rw`, then source, target and mode of each mount, then `--` and the command. The mounts exist in the
 * namespace of this process alone and end with it.
 */
const ENTER = `
set -eu
root=$1 mode=$2
shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$2"
  if [ "$3" = ro ]; then mount -o remount,bind,ro "$root$2"; fi
  shift 3
done
shift
if [ "$mode" = ro ]; then
  mount -t tmpfs tmpfs "$root/tmp"
  mount -o remount,bind,ro "$root"
fi
exec chroot "$root" "$@"
`;

const NO_PRIVILEGES = ['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all', '--no-new-privs'];

/**
 * Starts a program in a folder as its root, in a mount namespace of its own. Every program between replaces itself, so the process
 * that this returns is the program, and a signal meets it, unless it is isolated. It leads a process group.
 */
export function spawnInside(inside: Inside, command: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const { folder, user, mounts = [], workdir = '/', launcher = [] } = inside;
  for (const { source, target } of mounts) makeMountPoint(source, join(folder, target));
  const identity =
    user === undefined
      ? []
      : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', ...NO_PRIVILEGES];
  const [program = '', ...args] = [
    ...launcher,
    ...[
      'unshare',
      '--mount',
      ...(inside.isolated === true ? ['--pid', '--fork', '--kill-child'] : []),
      'sh',
      '-c',
      ENTER,
      'sh',
      folder,
      inside.readOnly === true ? 'ro' : 'rw',
    ],
    ...mounts.flatMap(({ source, target, readOnly }) => [source, target, readOnly ? 'ro' : 'rw']),
    ...['--', ...identity, 'env', `--chdir=${workdir}`, ...command],
  ];
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...inside.env };
  return spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options, env });
}

/** Runs a program inside to its end. @throws an Error with the end of its output, unless the exit code is 0 */
export async function runInside(inside: Inside, command: readonly string[]): Promise<string> {
  const child = spawnInside({ ...inside, isolated: true }, command);
  let output = '';
  const collect = (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-16_000);
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const endWithUs = () => endGroup(child);
  process.on('exit', endWithUs);
  try {
    const [code]: unknown[] = await once(child, 'close');
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${output.slice(-4_000)}`);
    return output;
  } finally {
    process.off('exit', endWithUs);
    endGroup(child);
  }
}

/** Kills a program that {@link spawnInside} started, with everything in its process group. */
export function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function makeMountPoint(source: string, target: string): void {
  if (statSync(source).isDirectory()) {
    mkdirSync(target, { recursive: true });
  } else {
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, '', { flag: 'a' });
  }
}
