import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { root } from './child.ts';
import { findProgram, majorVersion } from './setup.mjs';

describe('majorVersion', () => {
  test.each([
    ['Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64', 7],
    ['Chromium 156.0.8078.79 built on Debian GNU/Linux 12', 156],
    ['5:7.0.15-1~deb12u10', 7],
    ['5:6.0.16-1+deb11u2', 6],
    ['8.0.2-1', 8],
    ['no number here', undefined],
  ])('%s', (text, expected) => {
    expect(majorVersion(text)).toBe(expected);
  });
});

/** Simulates a machine: the PATH has only the folder that a test fills, and the user is not root. */
describe('setup.mjs', () => {
  let folder: string;
  const calls = () =>
    existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8').split('\n') : [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'postern-setup-'));
    for (const name of ['env', 'chmod', 'touch']) link(name);
    program('sudo', '[ "$1" = -n ] || exit 1; shift; [ "$1" = true ] || exec "$@"');
    mkdirSync(join(folder, 'workspace/scripts'), { recursive: true });
    copyFileSync(join(root, 'scripts/setup.mjs'), join(folder, 'workspace/scripts/setup.mjs'));
    mkdirSync(join(folder, 'workspace/node_modules/.bin'), { recursive: true });
    pinnedNode('exit 0');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function link(name: string): void {
    const path = findProgram(name);
    if (path === undefined) throw new Error(`this machine has no ${name}`);
    symlinkSync(path, join(folder, name));
  }

  function program(name: string, body: string): void {
    writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  }

  function pinnedNode(body: string): void {
    program('workspace/node_modules/.bin/node', body);
  }

  /** A fake apt-get that records its calls; `install` is the script of its install command. */
  function aptGet(install: string): void {
    program(
      'apt-get',
      `echo "$DEBIAN_FRONTEND $*" >> ${folder}/calls\ncase $1 in update) touch ${folder}/updated;; install) ${install};; esac`,
    );
  }

  function offers(version: string): void {
    program('apt-cache', `echo "$2:"; echo "  Installed: (none)"; echo "  Candidate: ${version}"`);
  }

  const redis = (version: string) => `echo "Redis server v=${version} sha=0:0"`;
  const writeRedis = () =>
    `printf '#!/bin/sh\\necho Redis server v=7.0.15\\n' > ${folder}/redis-server; chmod 755 ${folder}/redis-server`;

  function runSetup(...args: readonly string[]): Promise<{ exitCode: number | null; output: string }> {
    return runSetupWith({}, ...args);
  }

  function runSetupWith(
    env: NodeJS.ProcessEnv,
    ...args: readonly string[]
  ): Promise<{ exitCode: number | null; output: string }> {
    const notRoot = 'data:text/javascript,process.getuid = () => 1000';
    const child = spawn(process.execPath, ['--import', notRoot, join(folder, 'workspace/scripts/setup.mjs'), ...args], {
      env: { ...env, PATH: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', chunk => (output += chunk));
    child.stderr.on('data', chunk => (output += chunk));
    return new Promise(resolve => child.once('close', exitCode => resolve({ exitCode, output })));
  }

  test('prints nothing if everything is installed', async () => {
    program('redis-server', redis('7.0.15'));
    program('chromium', 'exit 1');
    program('ip', 'exit 1');
    expect(await runSetup('redis', 'chromium', 'namespaces')).toEqual({ exitCode: 0, output: '' });
  });

  test('network namespaces need the package iproute2, of any version', async () => {
    offers('6.1.0-3');
    aptGet(`printf '#!/bin/sh\\n' > ${folder}/ip; chmod 755 ${folder}/ip`);
    expect((await runSetup('namespaces')).exitCode).toBe(0);
    expect(calls().filter(line => line !== '')).toEqual([expect.stringMatching(/ install .* iproute2$/)]);
  });

  test('installs the package faketime, whose major version is 0', async () => {
    offers('0.9.10-2.1');
    aptGet(`printf '#!/bin/sh\\n' > ${folder}/faketime; chmod 755 ${folder}/faketime`);
    expect((await runSetup('faketime')).exitCode).toBe(0);
    expect(calls().filter(line => line !== '')).toEqual([expect.stringMatching(/ install .* faketime$/)]);
  });

  const lacks = (library: string) =>
    `echo "node: error while loading shared libraries: ${library}: cannot open shared object file" >&2; exit 127`;

  test('installs the library that the pinned Node.js lacks together with the missing programs', async () => {
    pinnedNode(`[ -e ${folder}/redis-server ] || { ${lacks('libatomic.so.1')}; }`);
    offers('12.2.0-14');
    aptGet(writeRedis());
    expect((await runSetup('redis')).exitCode).toBe(0);
    expect(calls().filter(line => line !== '')).toEqual([
      expect.stringMatching(/ install .* libatomic1 redis-server$/),
    ]);
  });

  test('names the library that the pinned Node.js lacks where there is no apt-get', async () => {
    pinnedNode(lacks('libatomic.so.1'));
    const { exitCode, output } = await runSetup();
    expect(exitCode).toBe(1);
    expect(output).toContain('libatomic.so.1');
  });

  test('reports why the pinned Node.js does not run when no package mends it', async () => {
    pinnedNode(lacks('libunknown.so.3'));
    const { exitCode, output } = await runSetup();
    expect(exitCode).toBe(1);
    expect(output).toContain('libunknown.so.3');
  });

  test('asks for an installation of the workspace if the pinned Node.js is missing', async () => {
    rmSync(join(folder, 'workspace/node_modules'), { recursive: true });
    const { exitCode, output } = await runSetup();
    expect(exitCode).toBe(1);
    expect(output).toContain('pnpm@12 install');
  });

  test('continues without a requirement after --if-possible, and names it', async () => {
    program('redis-server', redis('7.0.15'));
    const { exitCode, output } = await runSetup('redis', '--if-possible', 'faketime');
    expect(exitCode).toBe(0);
    expect(output).toContain('faketime');
    expect((await runSetup('redis', 'faketime')).exitCode).toBe(1);
  });

  test('takes the chromium that CHROMIUM_PATH names', async () => {
    program('my-browser', 'exit 0');
    expect(await runSetupWith({ CHROMIUM_PATH: join(folder, 'my-browser') }, 'chromium')).toEqual({
      exitCode: 0,
      output: '',
    });
    expect((await runSetupWith({ CHROMIUM_PATH: join(folder, 'not-there') }, 'chromium')).exitCode).toBe(1);
  });

  test('takes any chromium, and installs the headless shell beside it where that is possible', async () => {
    program('chromium', 'exit 1');
    offers('150.0.1-1~deb12u1');
    aptGet(`printf '#!/bin/sh\\n' > ${folder}/chromium-headless-shell; chmod 755 ${folder}/chromium-headless-shell`);
    expect((await runSetup('chromium')).output).toBe('');
    expect((await runSetup('chromium', '--if-possible', 'headless-shell')).exitCode).toBe(0);
    expect(calls().filter(line => line !== '')).toEqual([
      expect.stringMatching(/ install .* chromium-headless-shell$/),
    ]);
    expect((await runSetup('headless-shell')).output).toBe('');
  });

  test('installs what is missing, without recommended packages, without questions and without an update', async () => {
    offers('5:7.0.15-1~deb12u10');
    aptGet(writeRedis());
    const { exitCode, output } = await runSetup('redis');
    expect(output).toMatch(/install redis-server: done in \d+\.\d s/);
    expect(exitCode).toBe(0);
    const [install, ...rest] = calls().filter(line => line !== '');
    expect(install).toMatch(/^noninteractive install --yes .*--no-install-recommends .* redis-server$/);
    expect(rest).toEqual([]);
  });

  test('updates the package lists first when they do not know the package', async () => {
    program('apt-cache', `[ -e ${folder}/updated ] && echo "  Candidate: 5:7.0.15-1" || echo "  Candidate: (none)"`);
    aptGet(writeRedis());
    expect((await runSetup('redis')).exitCode).toBe(0);
    expect(calls().map(line => line.split(' ')[1])).toEqual(['update', 'install', undefined]);
  });

  test('updates stale package lists after a failed install and tries once more', async () => {
    offers('5:7.0.15-1');
    aptGet(`[ -e ${folder}/updated ] || exit 100; ${writeRedis()}`);
    expect((await runSetup('redis')).exitCode).toBe(0);
    expect(calls().map(line => line.split(' ')[1])).toEqual(['install', 'update', 'install', undefined]);
  });

  test('shows the output of apt-get when the installation finally fails', async () => {
    offers('5:7.0.15-1');
    aptGet('echo "E: no space left on device"; exit 100');
    const { exitCode, output } = await runSetup('redis');
    expect(exitCode).toBe(1);
    expect(output).toContain('E: no space left on device');
  });

  test('replaces a Redis that is too old', async () => {
    program('redis-server', redis('6.0.16'));
    offers('5:7.0.15-1');
    aptGet(writeRedis());
    expect((await runSetup('redis')).exitCode).toBe(0);
  });

  test('installs nothing if the package source offers only an old Redis', async () => {
    offers('5:6.0.16-1+deb11u2');
    aptGet(writeRedis());
    const { exitCode, output } = await runSetup('redis');
    expect(exitCode).toBe(1);
    expect(output).toContain('redis-server (version 7 or newer)');
    expect(calls().filter(line => line.includes('install --yes'))).toEqual([]);
  });

  test('names what to install where there is no apt-get', async () => {
    const { exitCode, output } = await runSetup('redis', 'chromium');
    expect(exitCode).toBe(1);
    expect(output).toContain('redis-server (version 7 or newer) and chromium');
  });

  test('setup.sh runs setup.mjs on the Node.js that belongs to no package', () => {
    pinnedNode(lacks('libatomic.so.1'));
    program('node', 'echo "own: $*"');
    const scripts = join(folder, 'workspace/scripts');
    copyFileSync(join(root, 'scripts/setup.sh'), join(scripts, 'setup.sh'));
    const env = { PATH: `${join(folder, 'workspace/node_modules/.bin')}:${folder}` };
    const { stdout } = spawnSync(join(scripts, 'setup.sh'), ['redis', '--if-possible', 'faketime'], { env });
    expect(String(stdout)).toBe(`own: ${scripts}/setup.mjs redis --if-possible faketime\n`);
  });

  test('refuses a requirement it does not know', async () => {
    expect((await runSetup('postgres')).exitCode).toBe(2);
  });

  test('names the command where sudo would ask for a password', async () => {
    program('sudo', 'exit 1');
    offers('5:7.0.15-1');
    aptGet(writeRedis());
    const { exitCode, output } = await runSetup('redis');
    expect(exitCode).toBe(1);
    expect(output).toContain('sudo apt-get install --no-install-recommends redis-server');
    expect(calls()).toEqual([]);
  });
});

const manifests = globSync(['package.json', '{packages,services,tools}/*/package.json'], { cwd: root });
const scriptsOf = z.object({ scripts: z.record(z.string(), z.string()).default({}) });
const commands = manifests.flatMap(path =>
  Object.entries(scriptsOf.parse(JSON.parse(readFileSync(join(root, path), 'utf8'))).scripts).map(
    ([name, command]) => [path, name, command] as const,
  ),
);

test.each(commands)('%s: %s checks this machine on its own Node.js first', (path, _name, command) => {
  const script = join(relative(dirname(path), 'scripts'), 'setup.sh');
  // `exec`: a signal from pnpm must reach the program itself, not a shell in between.
  const [check = '', program = ''] = command.split(' && ');
  expect(check.split(' ')[0]).toBe(script);
  expect(program).toMatch(/^exec \S/);
});
