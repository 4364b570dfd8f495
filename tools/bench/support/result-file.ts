import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Machine } from './machine.ts';
import { profileSections, ratiosOf, type StoredRow, verdictOf } from './row.ts';
import { median } from './statistics.ts';
import type { Sweep } from './sweep.ts';

const LAYOUT = 1;

/** A run of the benchmark with all samples. */
export interface BenchResult {
  readonly date: string;
  readonly machine: Machine;
  /** Load average before and after the run. */
  readonly load: { readonly before: number; readonly after: number };
  readonly runs: number;
  readonly rows: readonly StoredRow[];
  readonly sweeps: readonly Sweep[];
}

const samples = z.array(z.number());
const bound = z.object({ bound: z.enum(['at least', 'at most']), value: z.number() });
const target = bound.extend({ profile: z.enum(profileSections).optional() });
const resultSchema = z.object({
  layout: z.literal(LAYOUT),
  date: z.string(),
  machine: z.object({
    cpu: z.string(),
    cores: z.int(),
    memoryBytes: z.number(),
    kernel: z.string(),
    node: z.string(),
    redis: z.string(),
  }),
  load: z.object({ before: z.number(), after: z.number() }),
  runs: z.int(),
  rows: z.array(
    z.object({
      figure: z.string(),
      unit: z.string(),
      ours: samples,
      baseline: z.object({ name: z.string(), values: samples }).optional(),
      target: target.optional(),
    }),
  ),
  sweeps: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      x: z.object({ label: z.string(), values: samples }),
      series: z.array(
        z.object({ label: z.string(), unit: z.string(), samples: z.array(samples), target: bound.optional() }),
      ),
    }),
  ),
});

/** Writes derived values next to the samples, for readers without this code. */
export function writeResult(path: string, { rows, ...result }: BenchResult): void {
  const derived = rows.map(row => {
    const ratios = ratiosOf(row);
    return {
      ...row,
      median: median(row.ours),
      ...(ratios === undefined ? {} : { ratios, medianRatio: median(ratios) }),
      ...(row.target === undefined ? {} : { verdict: verdictOf(row) }),
    };
  });
  writeFileSync(path, `${JSON.stringify({ layout: LAYOUT, ...result, rows: derived }, undefined, 2)}\n`);
}

/** @throws ZodError if the file is not a result file */
export function readResult(path: string): BenchResult {
  const { layout: _, ...result } = resultSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  return result;
}
