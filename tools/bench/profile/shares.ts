/** `--shares=FOLDER`: the shares of busy time in CPU profiles, by part. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { markdownTable } from '../../../test/support/markdown-table.ts';
import { type Frame, type Part, partOf } from './parts.ts';

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.int(),
      callFrame: z.object({ functionName: z.string(), url: z.string() }),
      children: z.array(z.int()).optional(),
    }),
  ),
  /** Ids of the functions that ran, with the microseconds until the next one. */
  samples: z.array(z.int()),
  timeDeltas: z.array(z.int()),
});

/** Microseconds of each part. */
export type Times = ReadonlyMap<Part, number>;

/** @throws ZodError if the text is not a CPU profile */
export function timesIn(json: string): Times {
  const { nodes, samples, timeDeltas } = profileSchema.parse(JSON.parse(json));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id] as const)));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const parts = new Map(nodes.map(({ id }) => [id, partOf(stackOf(id))]));
  const times = new Map<Part, number>();
  for (const [at, id] of samples.entries()) {
    const part = parts.get(id);
    if (part !== undefined) times.set(part, (times.get(part) ?? 0) + (timeDeltas[at + 1] ?? 0));
  }
  return times;

  function stackOf(id: number): Frame[] {
    const stack: Frame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = frames.get(at);
      if (frame !== undefined) stack.push(frame);
    }
    return stack;
  }
}

/** Parts below this share are listed as one. */
const LEAST = 0.01;

/** Shares of the busy time after all modules are loaded, the largest first. */
export function sharesOf(all: readonly Times[]): readonly (readonly [part: string, share: number])[] {
  const sums = new Map<string, number>();
  for (const times of all)
    for (const [part, time] of times) if (part !== 'loading modules') sums.set(part, (sums.get(part) ?? 0) + time);
  const busy = [...sums.values()].reduce((sum, time) => sum + time, 0);
  const shares = [...sums].map(([part, time]) => [part, time / busy] as const).toSorted((a, b) => b[1] - a[1]);
  const large = shares.filter(([, share]) => share >= LEAST);
  const rest = shares.slice(large.length).reduce((sum, [, share]) => sum + share, 0);
  return rest > 0 ? [...large, ['the rest', rest]] : large;
}

const PROGRAMS = { 'bench/children/mcp-server.ts': 'MCP server', 'gateway/src/postern.ts': 'gateway' } as const;

/** One table for each program in a folder of `--profile`. @throws Error if the folder has no profile */
export function renderShares(folder: string): string {
  const paths = globSync('*.cpuprofile', { cwd: folder }).map(name => join(folder, name));
  if (paths.length === 0) throw new Error(`${basename(folder)} has no CPU profile`);
  const programs = Map.groupBy(
    paths.map(path => readFileSync(path, 'utf8')),
    json => Object.entries(PROGRAMS).find(([module]) => json.includes(`/${module}"`))?.[1] ?? 'another program',
  );
  return [...programs]
    .map(([program, profiles]) => {
      const shares = sharesOf(profiles.map(timesIn));
      return markdownTable(
        [program, 'share'],
        shares.map(([part, share]) => [part, `${(share * 100).toFixed(1)} %`]),
      );
    })
    .join('\n\n');
}
