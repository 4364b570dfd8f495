import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { addNode, installPackages, makeDebian, userOf } from './debian-folder.ts';
import type { Image } from './image-builder.ts';
import { runInside } from './inside.ts';

/**
 * Stands for the image node:…-slim: a minimal Debian with that Node.js, its npm, the library that it needs, and the user `node`.
 */
export async function makeNodeBase(folder: string, version: string): Promise<void> {
  await makeDebian(folder);
  await addNode(folder, { node: version, npm: '11' });
  await installPackages(folder, 'libatomic1');
  const inside = { folder, env: {} };
  await runInside(inside, ['groupadd', '--gid', '1000', 'node']);
  await runInside(inside, ['useradd', '--uid', '1000', '--gid', 'node', '--create-home', 'node']);
}

/** Stands for the image redis:7-bookworm: the Redis of Debian bookworm, with /data. */
export async function makeRedisImage(folder: string): Promise<Image> {
  await makeDebian(folder);
  await installPackages(folder, 'redis-server');
  const { uid, gid } = await userOf(folder, 'redis');
  await mkdir(join(folder, 'data'));
  await chown(join(folder, 'data'), uid, gid);
  return {
    folder,
    env: {},
    labels: {},
    stopSignal: 'SIGTERM',
    workdir: '/data',
    user: 'root',
    command: [],
    healthcheck: [],
    ports: [6379],
  };
}

/** A minimal Debian with the load balancers of Debian bookworm. */
export async function makeBalancerImage(folder: string): Promise<void> {
  await makeDebian(folder);
  await installPackages(folder, 'nginx', 'haproxy');
}
