import { afterAll, expect, it } from 'vitest';
import { type RegisteredRoute, registeredRoutes } from '../../support/registered-routes.ts';
import { closeDumps } from './dump.ts';
import { fuzzRoute } from './fuzz-route.ts';
import { startFuzzWorld } from './fuzz-world.ts';

/** Inputs per route. `pnpm faults --long` sends 5,000. HEAD shares the handler of GET and gets a tenth. */
const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? 150);
function inputsOf({ method, path }: RegisteredRoute): number {
  if (method === 'HEAD') return Math.ceil(INPUTS / 10);
  // One body for each kind.
  return method === 'POST' && path === '/v1/elicitations' ? 5 * INPUTS : INPUTS;
}
/** Fixed by default, so that every run has the same inputs. A failure prints the seed that repeats it. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
const TIMEOUT_MS = Math.max(120_000, INPUTS * 10);

/** Defines the tests of some of the routes. Each group is a file, because files run in parallel. */
export async function fuzzRoutes(isOurs: (route: RegisteredRoute) => boolean): Promise<() => void> {
  const world = await startFuzzWorld();
  // The refused sign-ins of this route use up those of the address, so it is the last one.
  const isLast = ({ path }: RegisteredRoute) => path === '/login/callback/:identityProvider';
  const found = registeredRoutes(world.gateway.app).filter(isOurs);
  const routes = [...found.filter(route => !isLast(route)), ...found.filter(isLast)];
  const report: string[] = [];
  const surprises: unknown[] = [];
  const note = (error: unknown) => void surprises.push(error);
  process.on('unhandledRejection', note);
  let inputs = 0;
  let seconds = 0;
  return () => {
    afterAll(async () => {
      process.off('unhandledRejection', note);
      console.log([`fuzz: seed ${SEED}, ${inputs} inputs, ${Math.round(inputs / seconds)}/s`, ...report].join('\n'));
      closeDumps();
      await world[Symbol.asyncDispose]();
    });

    it.each(routes)('$method $path', { timeout: TIMEOUT_MS }, async route => {
      const result = await fuzzRoute(world, route, { inputs: inputsOf(route), seed: SEED });
      inputs += result.inputs;
      seconds += result.seconds;
      const statuses = [...result.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
      report.push(
        `${route.method} ${route.path}: ${Math.round(result.inputs / result.seconds)}/s, p99 ${result.p99Ms.toFixed(1)} ms, ` +
          `slowest ${result.slowestMs.toFixed(0)} ms; ${statuses.join(', ')}`,
      );
      expect(result.inputs).toBe(inputsOf(route));
      expect(surprises).toEqual([]);
      expect(world.log()).not.toContain('http.surprise');
    });
  };
}

/** Routes that machines call; all others are for browsers. */
export const isForMachines = ({ path }: RegisteredRoute) =>
  !/^\/(e|me|login|logout|signed-out|callback)(\/|$)/.test(path);
