import { fileURLToPath } from 'node:url';
import { startCoverage } from './coverage.ts';
import { startRequests } from './requests.ts';

export interface Walk {
  readonly request: string;
  /** Own modules that take part in the request, sorted, as paths relative to the repository. */
  readonly modules: readonly string[];
}

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Runs that are not counted: they load, connect and cache what later requests reuse. */
const WARM_UPS = 3;
const RUNS = 5;

/** Measures which own modules take part in each request: those with an executed function in most runs. */
export async function measureWalks(): Promise<readonly Walk[]> {
  await using requests = await startRequests();
  const walks: Walk[] = [];
  for (const { request, owners, prepare } of requests.list) {
    for (let run = 0; run < WARM_UPS; run += 1) await (await prepare())();
    await using coverage = await startCoverage(root);
    const seen: string[] = [];
    for (let run = 0; run < RUNS; run += 1) seen.push(...(await coverage.during(await prepare())));
    // A timer in one run, or a stall of the machine in another, does not change the result.
    const isUsual = (path: string) => seen.filter(other => other === path).length > RUNS / 2;
    walks.push({ request, modules: [...new Set(seen)].filter(path => owners.test(path) && isUsual(path)).sort() });
  }
  return walks;
}

/** Returns the package of a module, or its room in the gateway. */
export function roomOf(path: string): string {
  const [parent, name, , room] = path.split('/');
  if (parent === 'packages' || parent === 'tools') return `${parent}/${name}`;
  return room === undefined || room.endsWith('.ts') ? `${name}` : `${name}/${room}`;
}
