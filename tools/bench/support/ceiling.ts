import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { HttpAnswer } from '../../../test/support/http-connection.ts';
import type { Bench } from './bench.ts';
import type { CapturedCommand } from './captured-command.ts';
import { type Child, readiness, startChild } from './child.ts';
import { API_KEY, MCP_SERVER_ID } from './gateway.ts';

/** The ceiling's Redis command for each of its paths. A path without a command returns 404. */
export interface CeilingSettings {
  readonly redisUrl: string;
  readonly issue?: CapturedCommand;
  readonly readConnection?: CapturedCommand;
  /** For the paths below `/checked`, whose handlers do what the checks need in any design. */
  readonly checked?: CheckedSettings;
}

export interface CheckedSettings {
  /** SHA-256, in hex. */
  readonly apiKeyDigest: string;
  readonly mcpServerId: string;
  /** A response of the gateway. */
  readonly answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  };
}

/** Settings for handlers that answer as the gateway did. */
export function checkedAs({ status, head, body }: HttpAnswer): CheckedSettings {
  const lines = head.split('\r\n').slice(1);
  const headers = Object.fromEntries(
    lines
      .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const)
      // Node.js sets them for each response.
      .filter(([name]) => !/^(?:date|connection|keep-alive|content-length)$/i.test(name)),
  );
  return {
    apiKeyDigest: createHash('sha256').update(API_KEY).digest('hex'),
    mcpServerId: MCP_SERVER_ID,
    answer: { status, headers, body: JSON.parse(body) },
  };
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
  const child = startChild({ module: 'tools/bench/children/ceiling.ts', args: [settingsPath] });
  const { port } = z.object({ port: z.int() }).parse(await readiness(child));
  return { child, port, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}
