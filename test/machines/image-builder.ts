import { mkdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { cacheFolder, clientEnvironment, runProgram, userOf } from './debian-folder.ts';
import type { Stage, Step } from './dockerfile.ts';
import { type Inside, runInside } from './inside.ts';

/** What a builder makes of one stage: a folder, and how its program runs. */
export interface Image {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly stopSignal: NodeJS.Signals;
  readonly workdir: string;
  readonly user: string;
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
  readonly ports: readonly number[];
}

export interface Builder {
  /** Runs every step of a stage and of those that it needs, each stage once. @throws with the output of a step that fails */
  build(stage: string): Promise<Image>;
}

/**
 * @param context a folder with the files that a builder receives
 * @param work where the images go
 * @param makeBase makes what stands for an image from a registry, in a folder that does not exist yet
 */
export function createBuilder(
  stages: readonly Stage[],
  {
    context,
    work,
    makeBase,
  }: { context: string; work: string; makeBase(image: string, folder: string): Promise<void> },
): Builder {
  const built = new Map<string, Promise<Image>>();

  function build(name: string): Promise<Image> {
    const begun = built.get(name);
    if (begun !== undefined) return begun;
    const stage = stages.find(candidate => candidate.name === name);
    if (stage === undefined) return Promise.reject(new Error(`the Dockerfile has no stage ${name}`));
    const image = buildStage(stage);
    built.set(name, image);
    return image;
  }

  async function buildStage({ name, base, steps }: Stage): Promise<Image> {
    const folder = join(work, name);
    let image: Image = {
      folder,
      env: {},
      labels: {},
      stopSignal: 'SIGTERM',
      workdir: '/',
      user: 'root',
      command: [],
      healthcheck: [],
      ports: [],
    };
    if (stages.some(stage => stage.name === base)) {
      const from = await build(base);
      await runProgram('cp', ['--archive', from.folder, folder]);
      image = { ...from, folder };
    } else {
      await makeBase(base, folder);
    }
    for (const step of steps) image = await take(step, image);
    return image;
  }

  async function take(step: Step, image: Image): Promise<Image> {
    switch (step.kind) {
      case 'env':
        return { ...image, env: { ...image.env, ...step.values } };
      case 'label':
        return { ...image, labels: { ...image.labels, ...step.values } };
      case 'stopsignal':
        return { ...image, stopSignal: step.signal };
      case 'workdir': {
        const workdir = posix.resolve(image.workdir, step.path);
        await mkdir(join(image.folder, workdir), { recursive: true });
        return { ...image, workdir };
      }
      case 'user':
        return { ...image, user: step.name };
      case 'cmd':
        return { ...image, command: step.command };
      case 'healthcheck':
        return { ...image, healthcheck: step.command };
      case 'expose':
        return { ...image, ports: [...image.ports, step.port] };
      case 'copy': {
        const from = step.from === undefined ? context : (await build(step.from)).folder;
        const target = join(image.folder, posix.resolve(image.workdir, step.target));
        await mkdir(target, { recursive: true });
        // COPY takes the content of a folder; root owns it whatever USER is set.
        await runProgram('cp', ['--archive', '--no-preserve=ownership', `${join(from, step.source)}/.`, target]);
        return image;
      }
      case 'run': {
        const mounts = await Promise.all(
          step.caches.map(async target => ({ source: await cacheFolder('builder'), target, readOnly: false })),
        );
        const user = image.user === 'root' ? {} : { user: await userOf(image.folder, image.user) };
        const inside: Inside = {
          folder: image.folder,
          env: { HOME: '/root', ...clientEnvironment(), ...image.env },
          workdir: image.workdir,
          mounts,
          ...user,
        };
        await runInside(inside, ['/bin/sh', '-c', step.command]);
        return image;
      }
      default:
        return step satisfies never;
    }
  }

  return { build };
}
