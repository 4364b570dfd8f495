import type { Machine, Network } from '../faults/support/namespaces.ts';
import type { Service } from './compose-project.ts';
import { type Container, startContainer } from './container.ts';
import type { Image } from './image-builder.ts';

/** Services of a Compose project, each on a machine of its own, found by each other by their names. */
export interface Project extends AsyncDisposable {
  /** Starts a service after those it depends on. Resolves when its health check succeeds. */
  start(name: string): Promise<Container>;
}

export interface ProjectOptions {
  readonly network: Network;
  /** The image of a build target, or of a name in a registry. */
  readonly imageOf: (name: string) => Promise<Image>;
  readonly work: string;
}

export async function startProject(
  services: Readonly<Record<string, Service>>,
  { network, imageOf, work }: ProjectOptions,
): Promise<Project> {
  const machines = new Map<string, Machine>();
  for (const name of Object.keys(services)) machines.set(name, await network.addMachine());
  const lines = [...machines].map(([name, { address }]) => `${address} ${name}`);
  const hosts = ['127.0.0.1 localhost', ...lines, ''].join('\n');
  const started = new Map<string, Promise<Container>>();

  function start(name: string): Promise<Container> {
    const begun = started.get(name) ?? startAfterOthers(name);
    started.set(name, begun);
    return begun;
  }

  async function startAfterOthers(name: string): Promise<Container> {
    const [service, machine] = [services[name], machines.get(name)];
    if (service === undefined || machine === undefined) throw new Error(`no service ${name}`);
    for (const other of Object.keys(service.depends_on)) await start(other);
    const image = await imageOf(service.build?.target ?? service.image ?? '');
    const container = await startContainer(name, service, { image, machine, hosts, work });
    try {
      await container.untilHealthy();
      return container;
    } catch (error) {
      await container[Symbol.asyncDispose]();
      throw error;
    }
  }

  return {
    start,
    async [Symbol.asyncDispose]() {
      for (const starting of started.values()) {
        const container = await starting.catch(() => undefined);
        await container?.[Symbol.asyncDispose]();
      }
    },
  };
}
