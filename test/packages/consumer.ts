import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Runs a program in a folder outside the workspace, without its settings. @throws with everything that it printed */
export async function runIn(folder: string, program: string, args: readonly string[]): Promise<string> {
  // NODE_PATH, which pnpm's links to programs set, would find packages of the workspace.
  const {
    NODE_COMPILE_CACHE: _,
    NODE_PATH: __,
    ...env
  } = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:npm|pnpm)_/i.test(name)));
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd: folder, env, maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')}\n${stdout}\n${stderr}`, { cause: error });
  }
}

/** An empty project, with the registry that has our packages. */
export function emptyProject(folder: string, npmrc: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  writeFileSync(join(folder, '.npmrc'), npmrc);
  // A workspace of its own, whatever folder is above. Packages that were published a moment ago are wanted here.
  writeFileSync(join(folder, 'pnpm-workspace.yaml'), 'packages: []\nminimumReleaseAgeExclude: ["@postern/*"]\n');
  return folder;
}

const npm = ['npm', ['install', '--no-audit', '--no-fund', '--prefer-offline']] as const;
const pnpm = ['npx', ['-y', 'pnpm@12.21.0', 'add', '--prefer-offline', '--ignore-scripts']] as const;

export async function install(folder: string, manager: 'npm' | 'pnpm', packages: readonly string[]): Promise<void> {
  const [program, args] = manager === 'npm' ? npm : pnpm;
  await runIn(folder, program, [...args, ...packages]);
}
