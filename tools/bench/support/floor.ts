import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { CapturedCommand } from './captured-command.ts';
import { readiness, startChild } from './child.ts';

export interface FloorSettings {
  readonly redisUrl: string;
  /** Sent one after the other, to end an elicitation. */
  readonly cancel: readonly CapturedCommand[];
  readonly read: CapturedCommand;
  /** Channel on which a gateway receives changes. */
  readonly channels: readonly string[];
}

export interface Floor extends AsyncDisposable {
  readonly port: number;
}

/** One of the two bare processes that replace two gateways. */
export async function startFloor(directory: string, settings: FloorSettings): Promise<Floor> {
  const settingsPath = join(directory, 'floor.json');
  writeFileSync(settingsPath, JSON.stringify(settings));
  const child = startChild({ module: 'tools/bench/children/floor.ts', args: [settingsPath] });
  const { port } = z.object({ port: z.int() }).parse(await readiness(child));
  return { port, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}
