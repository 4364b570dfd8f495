import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';

/** The machine and software versions that affect the measurement. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  readonly node: string;
  readonly redis: string;
}

export function thisMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.version,
    redis: /v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown',
  };
}

/** Load average of the last minute, which shows other work on the machine. */
export const loadNow = (): number => loadavg()[0] ?? Number.NaN;

/** For file names: `2x-intel-r-xeon-r-processor`. */
export function shortName({ cores, cpu }: Machine): string {
  const words = cpu.toLowerCase().match(/[a-z0-9.]+/g) ?? [];
  return [`${cores}x`, ...words.filter(word => !NOISE.has(word)).slice(0, 4)].join('-');
}

const NOISE = new Set(['r', 'tm', 'cpu', 'processor']);

export function described({ cpu, cores, memoryBytes, kernel, node, redis }: Machine): string {
  const gigabytes = Math.round(memoryBytes / 1024 ** 3);
  return `Node.js ${node}, Redis ${redis}, ${cores} × ${cpu}, ${gigabytes} GB, Linux ${kernel}`;
}
