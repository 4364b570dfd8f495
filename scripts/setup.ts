/**
 * Makes sure that the programs Postern needs beside Node.js are on this machine, and installs what is missing with
 * Debian's apt-get. Never asks a question. Says nothing when there is nothing to do.
 *
 * `node scripts/setup.ts [redis] [chromium] [namespaces] [faketime]` (without arguments: redis). What stands after `--if-possible`
 * is installed where that can be had; otherwise it is said, and whoever needs it says so again.
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export type Requirement = 'redis' | 'chromium' | 'namespaces' | 'faketime';

type DebianPackage = {
  readonly name: string;
  /** Any of these will do; the first is the one the package brings. */
  readonly programs: readonly [string, ...string[]];
  /** Names the program's path, where it is not on the PATH. */
  readonly pathVariable?: string;
  readonly minimumMajor: number;
};

const packages: Readonly<Record<Requirement, DebianPackage>> = {
  redis: { name: 'redis-server', programs: ['redis-server'], minimumMajor: 7 },
  chromium: {
    name: 'chromium',
    programs: ['chromium', 'chromium-browser'],
    pathVariable: 'CHROMIUM_PATH',
    minimumMajor: 1,
  },
  // The program only: whether this user may make network namespaces is for those to ask who need them.
  namespaces: { name: 'iproute2', programs: ['ip'], minimumMajor: 1 },
  faketime: { name: 'faketime', programs: ['faketime'], minimumMajor: 1 },
};

/** apt-get waits this many seconds for another package manager to finish before it gives up. */
const lockTimeoutSeconds = 300;
const heartbeatMilliseconds = 10_000;
const IF_POSSIBLE = '--if-possible';

export class SetupError extends Error {
  override name = 'SetupError';
}

export function isRequirement(text: string): text is Requirement {
  return Object.hasOwn(packages, text);
}

/**
 * Installs what is missing of `requirements`.
 *
 * @throws SetupError with a text for people when something is missing and cannot be installed from here
 */
export async function setup(requirements: readonly Requirement[]): Promise<void> {
  const missing = requirements.map(requirement => packages[requirement]).filter(wanted => !isPresent(wanted));
  if (missing.length === 0) return;

  const names = missing.map(({ name }) => name).join(' ');
  if (findProgram('apt-get') === undefined) throw new SetupError(byHand(missing, 'This machine has no apt-get.'));
  const prefix = privilegePrefix();
  if (prefix === undefined) {
    throw new SetupError(
      `${byHand(missing, 'Installing needs root, and sudo does not work here without a password.')}\nFor example: sudo apt-get install --no-install-recommends ${names}`,
    );
  }

  const aptGet = (label: string, args: readonly string[]) =>
    step(label, [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args]);
  const install = () =>
    aptGet(`install ${names}`, [
      'install',
      '--yes',
      '--quiet',
      '--no-install-recommends',
      '-o',
      `DPkg::Lock::Timeout=${lockTimeoutSeconds}`,
      ...missing.map(({ name }) => name),
    ]);
  const update = async () => {
    const updated = await aptGet('update the package lists', ['update', '--quiet']);
    if (!updated.ok) throw new SetupError(`apt-get update failed:\n${updated.tail}`);
  };

  let listsAreFresh = false;
  if (!missing.every(isOffered)) {
    await update();
    listsAreFresh = true;
  }
  for (const wanted of missing) refuseTooOld(wanted, offeredVersion(wanted));

  let installed = await install();
  if (!installed.ok && !listsAreFresh) {
    // Old package lists name files that the mirror no longer has.
    await update();
    installed = await install();
  }
  if (!installed.ok) throw new SetupError(`apt-get install ${names} failed:\n${installed.tail}`);
  for (const wanted of missing) {
    if (!isPresent(wanted))
      throw new SetupError(byHand([wanted], `${wanted.name} was installed and is still not usable.`));
  }
}

export function findProgram(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter(folder => folder !== '')
    .map(folder => join(folder, name))
    .find(isExecutable);
}

/** The major number in "Redis server v=7.0.15 …", "Chromium 156.0…" or Debian's "5:7.0.15-1~deb12u10". */
export function majorVersion(text: string): number | undefined {
  const digits = /(?:^|v=|\s)(?:\d+:)?(\d+)\.\d/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isPresent({ programs, pathVariable, minimumMajor }: DebianPackage): boolean {
  const named = pathVariable === undefined ? undefined : process.env[pathVariable];
  if (named !== undefined && isExecutable(named)) return true;
  const path = programs.map(findProgram).find(found => found !== undefined);
  if (path === undefined) return false;
  if (minimumMajor <= 1) return true;
  const major = majorVersion(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? '');
  return major !== undefined && major >= minimumMajor;
}

function offeredVersion({ name }: DebianPackage): string | undefined {
  const { stdout } = spawnSync('apt-cache', ['policy', name], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  });
  const candidate = /^\s*Candidate:\s*(\S+)/m.exec(stdout ?? '')?.[1];
  return candidate === '(none)' ? undefined : candidate;
}

function isOffered(wanted: DebianPackage): boolean {
  return offeredVersion(wanted) !== undefined;
}

function refuseTooOld(wanted: DebianPackage, version: string | undefined): void {
  const major = version === undefined ? undefined : majorVersion(version);
  if (major !== undefined && major >= wanted.minimumMajor) return;
  const offer = version === undefined ? 'does not offer it' : `offers ${version}`;
  throw new SetupError(byHand([wanted], `This machine's package source ${offer}.`));
}

/** What to put before a command that needs root; undefined where root cannot be had without a question. */
function privilegePrefix(): readonly string[] | undefined {
  if (process.getuid?.() === 0) return [];
  const sudo = findProgram('sudo');
  if (sudo === undefined) return undefined;
  return spawnSync(sudo, ['-n', 'true'], { stdio: 'ignore' }).status === 0 ? [sudo, '-n'] : undefined;
}

function byHand(missing: readonly DebianPackage[], reason: string): string {
  const wishes = missing.map(({ programs: [program], minimumMajor }) =>
    minimumMajor > 1 ? `${program} (version ${minimumMajor} or newer)` : program,
  );
  return `${reason}\nPlease install ${wishes.join(' and ')} so that it is on the PATH, then run the same command again.`;
}

/** Runs one command with a line when it begins, one every ten seconds and one when it ends; its output only on failure. */
async function step(
  label: string,
  command: readonly string[],
): Promise<{ readonly ok: boolean; readonly tail: string }> {
  const [program = '', ...args] = command;
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
  say(`${label} …`);
  const heartbeat = setInterval(() => say(`${label}: still working, ${seconds()}`), heartbeatMilliseconds);
  try {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk: string) => {
      output = (output + chunk).slice(-8_000);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    const ok = await new Promise<boolean>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', code => resolve(code === 0));
    });
    say(`${label}: ${ok ? 'done' : 'FAILED'} in ${seconds()}`);
    return { ok, tail: output.trimEnd().split('\n').slice(-20).join('\n') };
  } finally {
    clearInterval(heartbeat);
  }
}

function say(line: string): void {
  process.stderr.write(`setup: ${line}\n`);
}

/** For scripts: {@link setup}, with its refusal printed and turned into exit code 1. */
export async function setupOrExit(requirements: readonly Requirement[]): Promise<void> {
  try {
    await setup(requirements);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    for (const line of error.message.split('\n')) say(line);
    process.exit(1);
  }
}

/** As `setupOrExit`, for what there is some work without. */
export async function setupIfPossible(requirements: readonly Requirement[]): Promise<void> {
  for (const requirement of requirements) {
    try {
      await setup([requirement]);
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      for (const line of error.message.split('\n')) say(line);
    }
  }
}

if (import.meta.main) {
  const all = process.argv.slice(2);
  const args = all.filter(arg => arg !== IF_POSSIBLE);
  const unknown = args.filter(arg => !isRequirement(arg));
  if (unknown.length > 0) {
    say(`unknown: ${unknown.join(' ')} (known: ${Object.keys(packages).join(', ')})`);
    process.exit(2);
  }
  const split = all.includes(IF_POSSIBLE) ? all.indexOf(IF_POSSIBLE) : all.length;
  await setupOrExit(args.length === 0 ? ['redis'] : all.slice(0, split).filter(isRequirement));
  await setupIfPossible(all.slice(split).filter(isRequirement));
}
