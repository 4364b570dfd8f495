// @ts-check
/**
 * Checks that this machine has the programs that Postern needs besides the machine's own Node.js, and installs missing
 * ones with Debian's apt-get. Never asks a question. Prints nothing when nothing is missing.
 *
 * `node scripts/setup.mjs [redis] [chromium] [headless-shell] [namespaces] [faketime] [debootstrap] [httpx] [curl]`. The pinned
 * Node.js of the workspace is always checked. A requirement after `--if-possible` is installed where this user may do that; otherwise
 * a line names it and the command continues without it.
 *
 * setup.sh runs it on the machine's own Node.js, version 18 or newer, before the pinned one can run: plain JavaScript
 * without dependencies.
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * @typedef {'redis' | 'chromium' | 'headless-shell' | 'namespaces' | 'faketime' | 'debootstrap' | 'httpx' | 'curl'} Requirement
 */

/**
 * @typedef {object} DebianPackage
 * @property {string} name
 * @property {readonly [string, ...string[]]} programs any of these will do; the first is the one that the package contains
 * @property {string} [pathVariable] names the program's path where it is not on the PATH
 * @property {string} [file] file of a package without a program of its own
 * @property {number} [minimumMajor] any version will do where this is absent
 */

/**
 * @typedef {object} Missing
 * @property {string} name the Debian package
 * @property {string} wish for people
 * @property {number} [minimumMajor]
 * @property {() => boolean} isPresent
 */

/** @type {Readonly<Record<Requirement, DebianPackage>>} */
const packages = {
  redis: { name: 'redis-server', programs: ['redis-server'], minimumMajor: 7 },
  chromium: {
    name: 'chromium-headless-shell',
    programs: ['chromium-headless-shell', 'chromium', 'chromium-browser'],
    pathVariable: 'CHROMIUM_PATH',
  },
  // Chromium without its window needs half the processor time for each page.
  'headless-shell': {
    name: 'chromium-headless-shell',
    programs: ['chromium-headless-shell'],
    pathVariable: 'CHROMIUM_PATH',
  },
  // Only the program: the tests that make network namespaces check themselves whether this user may.
  namespaces: { name: 'iproute2', programs: ['ip'] },
  faketime: { name: 'faketime', programs: ['faketime'] },
  debootstrap: { name: 'debootstrap', programs: ['debootstrap'] },
  // For Debian's own Python, which comes with it.
  httpx: { name: 'python3-httpx', programs: ['python3'], file: '/usr/lib/python3/dist-packages/httpx/__init__.py' },
  curl: { name: 'curl', programs: ['curl'] },
};

/** Shared library that the pinned Node.js needs and a minimal Debian lacks, with its Debian package. */
const libraries = new Map([
  ['libatomic.so.1', 'libatomic1'],
  ['libstdc++.so.6', 'libstdc++6'],
]);

/** apt-get waits this many seconds for another package manager to finish before it gives up. */
const lockTimeoutSeconds = 300;
const heartbeatMilliseconds = 10_000;
const IF_POSSIBLE = '--if-possible';

/** The Node.js that runs every script of the workspace but this one. */
const pinnedNode = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));

export class SetupError extends Error {
  /** @override */
  name = 'SetupError';
}

/**
 * Installs the programs of `requirements` that this machine lacks.
 *
 * @param {readonly Requirement[]} requirements
 * @throws {SetupError} when a program is missing and cannot be installed from here; the message is for people
 */
export async function setup(requirements) {
  await install(missingPrograms(requirements));
}

/** @param {readonly Missing[]} missing */
async function install(missing) {
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(' ');
  if (findProgram('apt-get') === undefined) throw new SetupError(byHand(missing, 'this machine has no apt-get'));
  const prefix = privilegePrefix();
  if (prefix === undefined) {
    throw new SetupError(
      `${byHand(missing, 'installing needs root, and sudo does not work here without a password')}\nFor example: sudo apt-get install --no-install-recommends ${names}`,
    );
  }

  /** @type {(label: string, args: readonly string[]) => Promise<StepResult>} */
  const aptGet = (label, args) => step(label, [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args]);
  const options = ['--yes', '--quiet', '--no-install-recommends', '-o', `DPkg::Lock::Timeout=${lockTimeoutSeconds}`];
  const installAll = () => aptGet(`install ${names}`, ['install', ...options, ...missing.map(({ name }) => name)]);
  const update = async () => {
    const updated = await aptGet('update the package lists', ['update', '--quiet']);
    if (!updated.ok) throw new SetupError(`apt-get update failed:\n${updated.tail}`);
  };

  let listsAreFresh = false;
  if (!missing.every(wanted => offeredVersion(wanted) !== undefined)) {
    await update();
    listsAreFresh = true;
  }
  for (const wanted of missing) refuseTooOld(wanted, offeredVersion(wanted));

  let installed = await installAll();
  if (!installed.ok && !listsAreFresh) {
    // Old package lists name files that the mirror no longer has.
    await update();
    installed = await installAll();
  }
  if (!installed.ok) throw new SetupError(`apt-get install ${names} failed:\n${installed.tail}`);
  for (const wanted of missing) {
    if (!wanted.isPresent())
      throw new SetupError(byHand([wanted], `${wanted.name} was installed and is still not usable`));
  }
}

/**
 * @param {readonly Requirement[]} requirements
 * @returns {readonly Missing[]}
 */
function missingPrograms(requirements) {
  return requirements
    .map(requirement => packages[requirement])
    .filter(wanted => !isProgramPresent(wanted))
    .map(wanted => ({
      ...wanted,
      wish: wishFor(wanted),
      isPresent: () => isProgramPresent(wanted),
    }));
}

/** @param {DebianPackage} wanted */
function wishFor({ name, programs, file, pathVariable, minimumMajor }) {
  if (pathVariable !== undefined) return `${programs[0]} (or name one that you have in ${pathVariable})`;
  if (minimumMajor !== undefined) return `${programs[0]} (version ${minimumMajor} or newer)`;
  return file === undefined ? programs[0] : name;
}

/**
 * The shared library without which the pinned Node.js cannot start here.
 *
 * @returns {readonly Missing[]}
 * @throws {SetupError} when the pinned Node.js fails for a reason that no package fixes
 */
function missingLibraries() {
  const { status, stderr, error } = spawnSync(pinnedNode, ['--version'], { encoding: 'utf8' });
  if (status === 0) return [];
  if (error !== undefined) {
    throw new SetupError(`The pinned Node.js cannot be started (${error.message}). Run: npx -y pnpm@12 install`);
  }
  const library = /(\S+): cannot open shared object file/.exec(stderr)?.[1];
  const name = library === undefined ? undefined : libraries.get(library);
  if (library === undefined || name === undefined) {
    throw new SetupError(`The pinned Node.js does not run on this machine: ${stderr.trim()}`);
  }
  const isPresent = () => spawnSync(pinnedNode, ['--version'], { stdio: 'ignore' }).status === 0;
  return [{ name, wish: `the library ${library}`, isPresent }];
}

/**
 * @param {string} name
 * @returns {string | undefined} its path
 */
export function findProgram(name) {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter(folder => folder !== '')
    .map(folder => join(folder, name))
    .find(isExecutable);
}

/**
 * The major number in "Redis server v=7.0.15 …", "Chromium 156.0…" or Debian's "5:7.0.15-1~deb12u10".
 *
 * @param {string} text
 * @returns {number | undefined}
 */
export function majorVersion(text) {
  const digits = /(?:^|v=|\s)(?:\d+:)?(\d+)\.\d/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param {DebianPackage} wanted */
function isProgramPresent({ programs, pathVariable, file, minimumMajor }) {
  if (file !== undefined && !existsSync(file)) return false;
  const named = pathVariable === undefined ? undefined : process.env[pathVariable];
  if (named !== undefined && isExecutable(named)) return true;
  const path = programs.map(findProgram).find(found => found !== undefined);
  if (path === undefined) return false;
  if (minimumMajor === undefined) return true;
  const major = majorVersion(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? '');
  return major !== undefined && major >= minimumMajor;
}

/**
 * @param {Missing} wanted
 * @returns {string | undefined}
 */
function offeredVersion({ name }) {
  const { stdout } = spawnSync('apt-cache', ['policy', name], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  });
  const candidate = /^\s*Candidate:\s*(\S+)/m.exec(stdout ?? '')?.[1];
  return candidate === '(none)' ? undefined : candidate;
}

/**
 * @param {Missing} wanted
 * @param {string | undefined} version
 */
function refuseTooOld(wanted, version) {
  if (version === undefined) throw new SetupError(byHand([wanted], "this machine's package source does not offer it"));
  const { minimumMajor } = wanted;
  if (minimumMajor === undefined || (majorVersion(version) ?? 0) >= minimumMajor) return;
  throw new SetupError(byHand([wanted], `this machine's package source offers ${version}`));
}

/**
 * The words before a command that needs root.
 *
 * @returns {readonly string[] | undefined} undefined where only a password gives root
 */
function privilegePrefix() {
  if (process.getuid?.() === 0) return [];
  const sudo = findProgram('sudo');
  if (sudo === undefined) return undefined;
  return spawnSync(sudo, ['-n', 'true'], { stdio: 'ignore' }).status === 0 ? [sudo, '-n'] : undefined;
}

/**
 * @param {readonly Missing[]} missing
 * @param {string} reason
 */
function byHand(missing, reason) {
  return `Please install ${missing.map(({ wish }) => wish).join(' and ')}, then run the same command again: ${reason}.`;
}

/** @typedef {{ readonly ok: boolean, readonly tail: string }} StepResult */

/**
 * Runs one command. Prints a line when it begins, every ten seconds and when it ends; its output only on failure.
 *
 * @param {string} label
 * @param {readonly string[]} command
 * @returns {Promise<StepResult>}
 */
async function step(label, [program = '', ...args]) {
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
  say(`${label} …`);
  const heartbeat = setInterval(() => say(`${label}: still working, ${seconds()}`), heartbeatMilliseconds);
  try {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    /** @param {string} chunk */
    const collect = chunk => {
      output = (output + chunk).slice(-8_000);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    /** @type {boolean} */
    const ok = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', code => resolve(code === 0));
    });
    say(`${label}: ${ok ? 'done' : 'FAILED'} in ${seconds()}`);
    return { ok, tail: output.trimEnd().split('\n').slice(-20).join('\n') };
  } finally {
    clearInterval(heartbeat);
  }
}

/** @param {string} text */
function say(text) {
  for (const line of text.split('\n')) process.stderr.write(`setup: ${line}\n`);
}

/**
 * Prints the message of a SetupError and exits with code 1.
 *
 * @param {() => Promise<void>} work
 */
async function orExit(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
    process.exit(1);
  }
}

/**
 * Like {@link setup} for each requirement, but prints the message of a SetupError and continues.
 *
 * @param {readonly Requirement[]} requirements
 */
export async function setupIfPossible(requirements) {
  for (const requirement of requirements) {
    try {
      await setup([requirement]);
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      say(`${error.message}\nContinuing without it.`);
    }
  }
}

/**
 * @param {string} text
 * @returns {text is Requirement}
 */
function isRequirement(text) {
  return Object.hasOwn(packages, text);
}

/** @param {readonly string[]} args */
async function main(args) {
  const unknown = args.filter(arg => arg !== IF_POSSIBLE && !isRequirement(arg));
  if (unknown.length > 0) {
    say(`unknown: ${unknown.join(' ')} (known: ${Object.keys(packages).join(', ')})`);
    process.exit(2);
  }
  const split = args.includes(IF_POSSIBLE) ? args.indexOf(IF_POSSIBLE) : args.length;
  const required = args.slice(0, split).filter(isRequirement);
  await orExit(async () => install([...missingLibraries(), ...missingPrograms(required)]));
  await setupIfPossible(args.slice(split).filter(isRequirement));
}

// The machine's Node.js has no import.meta.main.
if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  await main(process.argv.slice(2));
}
