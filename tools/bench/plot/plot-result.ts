import { writeFileSync } from 'node:fs';
import { described } from '../support/machine.ts';
import type { BenchResult } from '../support/result-file.ts';
import { plotRows } from './plot-rows.ts';
import { plotSweeps } from './plot-sweeps.ts';

/** Draws a result next to its file. @returns the paths of the drawings */
export function plotResult(path: string, { machine, date, runs, rows, sweeps }: BenchResult): string[] {
  const caption = `${described(machine)}; ${date.slice(0, 10)}, ${runs} runs in turn`;
  const drawings = new Map<string, string>();
  if (rows.some(({ target }) => target !== undefined)) drawings.set('rows', plotRows(rows, caption));
  if (sweeps.length > 0) drawings.set('sweeps', plotSweeps(sweeps, caption));
  return [...drawings].map(([name, svg]) => {
    const drawn = path.replace(/(\.json)?$/, `-${name}.svg`);
    writeFileSync(drawn, svg);
    return drawn;
  });
}
