import { spawnSync } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyContext } from '../../../test/machines/build-context.ts';
import { readDockerfile } from '../../../test/machines/dockerfile.ts';
import { root } from './child.ts';

/** The folder /app of the gateway's image. */
export interface GatewayImage {
  readonly program: string;
  readonly compiled: string;
  readonly bytes: number;
}

/** Runs the build steps of infra/Dockerfile in `directory`, without a container engine. @throws with the output of a failed step */
export function buildGatewayImage(directory: string): GatewayImage {
  const build = join(directory, 'build');
  const app = join(directory, 'app');
  copyContext(root, build);
  const stages = readDockerfile(readFileSync(join(root, 'infra/Dockerfile'), 'utf8'));
  for (const step of stages.find(({ name }) => name === 'compiled')?.steps ?? []) {
    if (step.kind !== 'run') continue;
    // The folders of a container, in this directory. The package store is that of this machine.
    const command = step.command.replace(' --store-dir /pnpm/store', '').replace(/ \/app$/, ` ${app}`);
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd: build, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command} failed:\n${stdout}\n${stderr}`);
  }
  const files = readdirSync(app, { recursive: true, encoding: 'utf8' }).map(path => lstatSync(join(app, path)));
  const bytes = files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
  return { program: join(app, 'dist/postern.js'), compiled: join(app, '.compiled'), bytes };
}
