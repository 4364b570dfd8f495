/**
 * `npx -y pnpm@12 fresh-machine [--node 20] [--full]`: the two commands of the README on a machine that has only Node.js, npm, git
 * and apt: a minimal Debian in a folder, into which the last commit is cloned. `test` runs for one package, with `--full` for
 * everything. Before, on another such machine with the oldest Node.js of the gateway and without git: the packages, built here, and a
 * stdio server whose tool asks. Needs root and Debian's debootstrap.
 */
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@postern/testkit/processes';
import { commandLine } from '../../scripts/command-line.ts';
import { addNode, clientEnvironment, makeDebian, runProgram, whyNoDebianFolders } from './debian-folder.ts';
import { endGroup, type Inside, spawnInside } from './inside.ts';
import { repository } from './repository.ts';

const { values } = commandLine({
  usage: 'fresh-machine',
  about: 'runs demo --unattended and test on a minimal Debian in a folder, with the last commit; needs root',
  options: {
    node: { type: 'string', default: '20', about: 'version of Node.js' },
    full: { type: 'boolean', default: false, about: 'run the tests of everything, not of one package' },
  },
});

const fixture = join(import.meta.dirname, '../packages/fixtures/stdio-ask.mjs');
/** The oldest Node.js of the gateway. */
const GATEWAY_NODE = '24.15.0';
/** The newest npm that runs on every Node.js that the README admits. */
const NPM = '10';
const REPOSITORY = 'srv/postern.git';

async function main(): Promise<number> {
  const reason = whyNoDebianFolders();
  if (reason !== undefined) {
    console.error(`A fresh machine cannot be made here: ${reason}.`);
    return 2;
  }
  const work = await mkdtemp(join(tmpdir(), 'postern-fresh-machine-'));
  const folder = join(work, 'debian');
  try {
    await askThroughPackages(join(work, 'packages'));
    await timed(`minimal Debian with Node.js ${values.node}`, async () => {
      await makeDebian(folder);
      await addNode(folder, { node: values.node, npm: NPM });
      await runProgram('git', [
        'clone',
        '--quiet',
        '--bare',
        '--depth',
        '1',
        `file://${repository}`,
        join(folder, REPOSITORY),
      ]);
    });
    const machine: Inside = {
      folder,
      isolated: true,
      env: { ...clientEnvironment(), HOME: '/root', LANG: 'C.UTF-8' },
      workdir: '/srv',
    };
    const clone = { ...machine, workdir: '/srv/postern' };
    const apt = 'apt-get update -qq && apt-get install -qq --no-install-recommends ca-certificates git >/dev/null 2>&1';
    await inFront(machine, ['sh', '-c', apt]);
    await inFront(machine, ['git', 'clone', '--quiet', `/${REPOSITORY}`, 'postern']);
    await inFront(clone, ['npx', '-y', 'pnpm@12', 'demo', '--unattended']);
    await inFront(clone, ['npx', '-y', 'pnpm@12', 'test', ...(values.full ? [] : ['packages/vault'])]);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Without redis-server: `npm install`, one command, and a tool that asked. */
async function askThroughPackages(folder: string): Promise<void> {
  await timed(`minimal Debian with Node.js ${GATEWAY_NODE} and the packages`, async () => {
    await makeDebian(folder);
    await addNode(folder, { node: GATEWAY_NODE, npm: NPM });
    await runProgram(process.execPath, [join(repository, 'scripts/packages.ts'), join(folder, 'srv/packages')]);
    await cp(fixture, join(folder, 'srv/stdio-ask.mjs'));
  });
  const machine: Inside = {
    folder,
    isolated: true,
    workdir: '/srv',
    env: { ...clientEnvironment(), HOME: '/root', LANG: 'C.UTF-8' },
  };
  const sdk = ['@modelcontextprotocol/server', '@modelcontextprotocol/client', 'zod'];
  const install = `npm install --no-audit --no-fund ./packages/postern-{api,mcp,gateway}-*.tgz ${sdk.join(' ')}`;
  await inFront(machine, ['bash', '-c', `! command -v redis-server && ${install}`]);
  // The machine has no network of its own.
  await inFront(machine, ['node', 'stdio-ask.mjs', String(await freePort())]);
}

/** Runs a command on the machine, with its output. @throws unless it ends with 0 */
async function inFront(machine: Inside, command: readonly string[]): Promise<void> {
  await timed(command.join(' '), async () => {
    const child = spawnInside(machine, command, { stdio: ['ignore', 'inherit', 'inherit'] });
    const end = () => endGroup(child);
    process.on('exit', end);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
    const [code]: unknown[] = await once(child, 'close');
    process.off('exit', end);
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`);
  });
}

async function timed(label: string, work: () => Promise<void>): Promise<void> {
  console.log(`\n▶ ${label}`);
  const began = performance.now();
  await work();
  console.log(`▷ ${label}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

process.exitCode = await main();
