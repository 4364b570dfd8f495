import { type ExecFileException, execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { runInside } from './inside.ts';

const execute = promisify(execFile);
const RELEASE = 'bookworm';
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/machines');
const APT_LISTS = 'var/lib/apt/lists';
const POLL_MS = 100;
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Why no Debian can be made in a folder here, in words for people; undefined where one can. */
export function whyNoDebianFolders(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a Debian in a folder needs root on Linux';
  if (!hasProgram('debootstrap')) return 'the Debian package debootstrap is missing';
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'this process may not make mount namespaces';
  return undefined;
}

function hasProgram(name: string): boolean {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** A folder below the cache that survives runs, as the cache mounts of a builder do. */
export async function cacheFolder(name: string): Promise<string> {
  const folder = join(CACHE, name);
  await mkdir(folder, { recursive: true });
  return folder;
}

/** Runs a program to its end. @throws an Error with the end of its output, unless the exit code is 0 */
export async function runProgram(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await execute(program, [...args], { maxBuffer: 64 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as ExecFileException;
    throw new Error(`${program} failed:\n${`${stdout}${stderr}`.slice(-4_000)}`, { cause: error });
  }
}

/**
 * Makes a minimal Debian in `folder`, which does not exist yet. apt-get and npm there reach their registries as they do on this
 * machine.
 */
export async function makeDebian(folder: string): Promise<void> {
  await runProgram('cp', ['--archive', await minimalDebian(), folder]);
  // As the official images do: these packages need not survive a power failure.
  await writeFile(join(folder, 'etc/dpkg/dpkg.cfg.d/unsafe-io'), 'force-unsafe-io\n');
  // Debian's installer and container engines write this file; debootstrap alone does not.
  await writeFile(join(folder, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n');
  await copyClientConfiguration(folder);
}

/** Installs the Node.js of an npm package, with an npm, where the official images have them. */
export async function addNode(
  folder: string,
  versions: { readonly node: string; readonly npm: string },
): Promise<void> {
  const cached = join(CACHE, `node-${versions.node}-npm-${versions.npm}`);
  const platform = `node-linux-${process.arch}`;
  await makeOnce(cached, async work => {
    const options = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts'];
    await runProgram('npm', [
      ...['install', '--prefix', work, ...options],
      ...[`${platform}@${versions.node}`, `npm@${versions.npm}`],
    ]);
  });
  const local = join(folder, 'usr/local');
  await cp(join(cached, 'node_modules', platform, 'bin/node'), join(local, 'bin/node'));
  await cp(join(cached, 'node_modules/npm'), join(local, 'lib/node_modules/npm'), { recursive: true });
  for (const name of ['npm', 'npx'])
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
}

/** What debootstrap makes, kept: it is the slow part, and the same for everybody. */
async function minimalDebian(): Promise<string> {
  const cached = join(CACHE, `debian-${RELEASE}`);
  await makeOnce(cached, async work => {
    const mirror = await debianMirror();
    await runProgram('debootstrap', ['--variant=minbase', RELEASE, work, ...(mirror === undefined ? [] : [mirror])]);
  });
  return cached;
}

/**
 * Installs Debian packages in a folder of {@link makeDebian}. The package lists are loaded once for all folders, and not left in the
 * folder.
 */
export async function installPackages(folder: string, ...names: readonly string[]): Promise<void> {
  const inside = { folder, env: { ...clientEnvironment(), DEBIAN_FRONTEND: 'noninteractive' } };
  const install = ['apt-get', 'install', '-qq', '--no-install-recommends', ...names];
  const lists = join(folder, APT_LISTS);
  await rm(lists, { recursive: true });
  await runProgram('cp', ['--archive', await packageLists(), lists]);
  try {
    await runInside(inside, install);
  } catch {
    // Lists of an earlier day name files that the mirror no longer has.
    await runInside(inside, ['apt-get', 'update', '-qq']);
    await runInside(inside, install);
  }
  await rm(lists, { recursive: true });
  await mkdir(lists);
}

async function packageLists(): Promise<string> {
  const cached = join(CACHE, `apt-lists-${RELEASE}`);
  await makeOnce(cached, async work => {
    const folder = join(work, 'debian');
    await makeDebian(folder);
    await runInside({ folder, env: clientEnvironment() }, ['apt-get', 'update', '-qq']);
    const lists = await readdir(join(folder, APT_LISTS));
    for (const name of lists) await rename(join(folder, APT_LISTS, name), join(work, name));
    await rm(folder, { recursive: true });
  });
  return cached;
}

/** Makes `target` unless it exists. Other processes that need it wait for the first one. */
async function makeOnce(target: string, make: (work: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const lock = `${target}.lock`;
  while (!existsSync(target)) {
    if (!(await tookLock(lock))) {
      await delay(POLL_MS);
      continue;
    }
    const work = await mkdtemp(`${target}.`);
    try {
      // debootstrap makes the folder itself, and a root folder is open to every user in it.
      await chmod(work, 0o755);
      if (existsSync(target)) return;
      await make(work);
      await rename(work, target);
    } finally {
      await rm(work, { recursive: true, force: true });
      await rm(lock, { force: true });
    }
  }
}

/** Takes a lock file, also from a process that ended without giving it back. Returns false if another process has it. */
async function tookLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = Number(await readFile(lock, 'utf8').catch(() => ''));
  if (holder > 0 && !existsSync(`/proc/${holder}`)) await rm(lock, { force: true });
  return false;
}

/** Where this machine gets Debian packages from; undefined where it does not know (debootstrap has a default). */
async function debianMirror(): Promise<string | undefined> {
  if (!hasProgram('apt-get')) return undefined;
  const format = '$(ORIGIN)\t$(LABEL)\t$(REPO_URI)';
  const targets = await runProgram('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
  const rows = targets.split('\n').map(row => row.split('\t'));
  return rows.find(([origin, label]) => origin === 'Debian' && label === 'Debian')?.[2];
}

/** Only how registries are reached: proxies, certificates, npm's own configuration. Packages and sources stay minimal. */
async function copyClientConfiguration(folder: string): Promise<void> {
  if (hasProgram('apt-config')) {
    const settings = await runProgram('apt-config', ['dump', '--no-empty', '--format', '%f "%v";%n']);
    const wanted = settings.split('\n').filter(line => /^Acquire::(?:https?::|Retries|Check-Valid-Until)/.test(line));
    await writeFile(join(folder, 'etc/apt/apt.conf.d/90machine'), `${wanted.join('\n')}\n`);
  }
  await copyIfPresent('/etc/resolv.conf', join(folder, 'etc/resolv.conf'));
  await copyIfPresent('/usr/local/share/ca-certificates', join(folder, 'usr/local/share/ca-certificates'));
  await copyIfPresent(CERTIFICATES, join(folder, CERTIFICATES));

  const npm = z
    .object({ userconfig: z.string(), globalconfig: z.string(), cafile: z.string().nullish() })
    .parse(JSON.parse(await runProgram('npm', ['config', 'list', '--json'])));
  await copyIfPresent(npm.userconfig, join(folder, 'root/.npmrc'));
  await copyIfPresent(npm.globalconfig, join(folder, 'usr/local/etc/npmrc'));
  const named = [npm.cafile, ...Object.entries(clientEnvironment()).map(([, value]) => value)];
  for (const path of named.filter(it => it?.startsWith('/'))) {
    if (typeof path === 'string' && path !== CERTIFICATES) await copyIfPresent(path, join(folder, path));
  }
}

/** The variables of this process by which clients of registries are configured. */
export function clientEnvironment(): Readonly<Record<string, string>> {
  const names =
    /^(?:(?:https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|GIT_SSL_CAINFO|npm_config_(?:registry|cafile|(?:https_)?proxy|noproxy))$/i;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (names.test(name) && value ? [[name, value]] : [])),
  );
}

async function copyIfPresent(source: string, target: string): Promise<void> {
  if (!existsSync(source)) return;
  await mkdir(dirname(target), { recursive: true });
  await cp(source, target, { recursive: true, dereference: true });
}

/** A line of /etc/passwd. */
export interface User {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** @throws when `folder` has no user of that name */
export async function userOf(folder: string, name: string): Promise<User> {
  const line = (await readFile(join(folder, 'etc/passwd'), 'utf8')).split('\n').find(it => it.startsWith(`${name}:`));
  if (line === undefined) throw new Error(`no user ${name} there`);
  const [, , uid, gid, , home = '/'] = line.split(':');
  return { uid: Number(uid), gid: Number(gid), home };
}
