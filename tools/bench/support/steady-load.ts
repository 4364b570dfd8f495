import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { type OpenLoopCommand, openLoopReportSchema } from '../children/open-loop.ts';
import { type Child, readiness, startChild } from './child.ts';
import type { GatewayProcess } from './gateway.ts';
import { compared, type Row, type Target } from './row.ts';
import type { Pairs } from './statistics.ts';

export interface SteadyRun {
  readonly p99: number;
  readonly refused: number;
}

export interface SteadyLoad extends AsyncDisposable {
  run(seconds: number): Promise<SteadyRun>;
}

/** Starts the generator of `children/open-loop.ts`, for the second MCP server of a gateway. Both processes get a processor each. */
export async function startSteadyLoad(
  { child, port }: Pick<GatewayProcess, 'child' | 'port'>,
  perSecond: number,
): Promise<SteadyLoad> {
  const generator = startChild({ module: 'tools/bench/children/open-loop.ts' });
  await readiness(generator);
  pin(child, 0);
  pin(generator, 1);
  return {
    async run(seconds) {
      const answer = once(generator.process, 'message');
      generator.process.send({ port, perSecond, seconds } satisfies OpenLoopCommand);
      const { ms, refused } = openLoopReportSchema.parse((await answer)[0]);
      return { p99: ms.toSorted((a, b) => a - b)[Math.floor(ms.length * 0.99)] ?? Number.NaN, refused };
    },
    [Symbol.asyncDispose]: () => generator[Symbol.asyncDispose](),
  };
}

/** The rows of a steady load: its 99th percentile against the undisturbed one, and its refused requests. */
export function steadyRows(
  figure: string,
  baselineName: string,
  { ours, baseline }: Pairs<SteadyRun>,
  target: Omit<Target, 'bound'>,
): Row[] {
  const p99Of = (runs: readonly SteadyRun[]) => runs.map(({ p99 }) => p99);
  const pairs = { ours: p99Of(ours), baseline: p99Of(baseline) };
  return [
    compared(figure, 'ms', baselineName, pairs, { ...target, bound: 'at most' }),
    {
      figure: '  of its requests refused',
      unit: 'requests',
      ours: ours.map(({ refused }) => refused),
      target: { ...target, bound: 'at most', value: 0 },
    },
  ];
}

/** Pins a process to its own processor, if the machine has several and supports it. */
function pin({ process: { pid } }: Child, processor: number): void {
  if (availableParallelism() > processor)
    spawnSync('taskset', ['-acp', String(processor), String(pid)], { stdio: 'ignore' });
}
