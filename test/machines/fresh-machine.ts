/**
 * `npx -y pnpm@12 fresh-machine [--node 20] [--full]`: the two commands of the README on a machine that has only Node.js, npm, git
 * and apt: a minimal Debian in a folder, into which the last commit is cloned. `test` runs for one package, with `--full` for
 * everything. Needs root and Debian's debootstrap.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
