import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Bench } from './bench.ts';
import type { CapturedCommand } from './captured-command.ts';
import { type Child, readiness, startChild } from './child.ts';

/** The ceiling's Redis command for each of its paths. A path without a command returns 404. */
export interface CeilingSettings {
  readonly redisUrl: string;
  readonly issue?: CapturedCommand;
  readonly readConnection?: CapturedCommand;
}

export interface Ceiling extends AsyncDisposable {
  readonly child: Child;
  readonly port: number;
}

/** The bare handler that one gateway process is compared with, as a separate process. */
export async function startCeiling(
  { directory }: Pick<Bench, 'directory'>,
  settings: CeilingSettings,
): Promise<Ceiling> {
  const settingsPath = join(directory, 'ceiling.json');
  writeFileSync(settingsPath, JSON.stringify(settings));
  const child = startChild({ module: 'test/bench/children/ceiling.ts', args: [settingsPath] });
  const { port } = z.object({ port: z.int() }).parse(await readiness(child));
  return { child, port, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}
