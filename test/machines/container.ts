import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../faults/support/namespaces.ts';
import type { Service } from './compose-project.ts';
import { userOf } from './debian-folder.ts';
import type { Image } from './image-builder.ts';
import { endGroup, type Inside, type Mount, runInside, spawnInside } from './inside.ts';
import { repository } from './repository.ts';

/** A service of a Compose file, running as that file says: its user, no capabilities, a read-only root, its volumes. */
export interface Container extends AsyncDisposable {
  /** Of its machine, as this process sees it. */
  readonly address: string;
  /** What it has printed. */
  readonly output: string;
  /** Resolves when its health check has ended with 0 once. @throws with its output when it ends, or is not healthy in time */
  untilHealthy(): Promise<void>;
  /** Runs a command beside it, as `docker compose exec` does. Resolves with what it prints. @throws unless it ends with 0 */
  run(command: readonly string[]): Promise<string>;
  /** Processes and threads that it consists of now. */
  countTasks(): number;
  /** Sends the stop signal of the image. Resolves with how it ended. @throws when it lasts longer than the grace period */
  stop(): Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

export interface ContainerOptions {
  readonly image: Image;
  readonly machine: Machine;
  /** Lines of /etc/hosts: every other service by its name. */
  readonly hosts: string;
  /** Where its named volumes are. */
  readonly work: string;
}

/** Only ends a wait that would never end. */
const HEALTHY_WITHIN_MS = 300_000;

export async function startContainer(name: string, service: Service, options: ContainerOptions): Promise<Container> {
  const { image, machine, hosts, work } = options;
  const user = await userOf(image.folder, service.user ?? image.user);
  const hostsFile = join(work, 'hosts');
  await writeFile(hostsFile, hosts);
  const inside: Inside = {
    folder: image.folder,
    env: { HOME: user.home, ...image.env, ...service.environment },
    workdir: image.workdir,
    user,
    readOnly: service.read_only,
    mounts: [
      { source: hostsFile, target: '/etc/hosts', readOnly: true },
      ...(await Promise.all(service.volumes.map(volume => mountOf(volume, work, user)))),
    ],
    launcher: machine.launcher,
  };
  const child = spawnInside(inside, service.command ?? image.command);
  const closed = once(child, 'close');
  const endNow = () => endGroup(child);
  process.on('exit', endNow);
  let output = '';
  const collect = (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-64_000);
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const [form = '', ...check] = service.healthcheck?.test ?? ['CMD', ...image.healthcheck];
  const healthcheck = form === 'CMD-SHELL' ? ['/bin/sh', '-c', ...check] : check;

  return {
    address: machine.address,
    get output() {
      return output;
    },
    async untilHealthy() {
      const deadline = performance.now() + HEALTHY_WITHIN_MS;
      for (;;) {
        if (hasEnded(child)) throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}:\n${output}`);
        try {
          await runInside(inside, healthcheck);
          return;
        } catch (error) {
          if (performance.now() > deadline) throw new Error(`${name} is not healthy:\n${output}`, { cause: error });
        }
      }
    },
    run: command => runInside(inside, command),
    countTasks: () => countTasks(child.pid),
    async stop() {
      child.kill(image.stopSignal);
      const graceMs = Number.parseInt(service.stop_grace_period, 10) * 1_000;
      const late = setTimeout(endNow, graceMs);
      const began = performance.now();
      await closed;
      clearTimeout(late);
      if (performance.now() - began >= graceMs)
        throw new Error(`${name} did not stop within ${graceMs} ms:\n${output}`);
      return { code: child.exitCode, signal: child.signalCode };
    },
    async [Symbol.asyncDispose]() {
      endNow();
      await closed;
      process.off('exit', endNow);
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** `./path:/target:ro`, `/path:/target:ro` or `name:/target`. A named volume belongs to the user, as the images prepare it. */
async function mountOf(volume: string, work: string, user: { uid: number; gid: number }): Promise<Mount> {
  const [source = '', target = '', mode] = volume.split(':');
  if (source.startsWith('/')) return { source, target, readOnly: mode === 'ro' };
  if (source.startsWith('.')) return { source: join(repository, source), target, readOnly: mode === 'ro' };
  const folder = join(work, 'volumes', source);
  await mkdir(folder, { recursive: true });
  await chown(folder, user.uid, user.gid);
  return { source: folder, target, readOnly: mode === 'ro' };
}

/** All threads of a process group. */
function countTasks(group: number | undefined): number {
  const threads = readdirSync('/proc').map(entry => {
    if (!/^\d+$/.test(entry)) return 0;
    try {
      // After the name, which may contain anything: state, parent, group … and the number of threads.
      const fields = readFileSync(`/proc/${entry}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      return Number(fields[2]) === group ? Number(fields[17]) : 0;
    } catch {
      return 0;
    }
  });
  return threads.reduce((sum, count) => sum + count, 0);
}
