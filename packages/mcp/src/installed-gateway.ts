import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { type System, serverNameSchema } from '@postern/api/local';
import { z } from 'zod/v4';
import { jsonOf } from './parse-strictly.ts';

export const GATEWAY_PACKAGE = '@postern/gateway';

const manifestSchema = z.object({
  version: z.string(),
  bin: z.object({ postern: z.string() }),
  engines: z.object({ node: z.string() }).optional(),
});

export interface Installed {
  readonly version: string;
  readonly program: string;
  /** Version of Node.js. */
  readonly needs: string;
}

/**
 * The gateway that is installed beside the running program. Never one beside the working directory, which MCP clients set to whatever
 * folder the user has opened: its code would run.
 */
export function installedGateway(script: string | undefined, system: System): Installed | undefined {
  if (script === undefined) return undefined;
  const isTrusted = (path: string) => isOurs(path, system);
  const places = createRequire(realPathOf(script)).resolve.paths(GATEWAY_PACKAGE) ?? [];
  for (const place of places) {
    if (![place, dirname(join(place, GATEWAY_PACKAGE)), join(place, GATEWAY_PACKAGE)].every(isTrusted)) continue;
    const folder = realpathSync(join(place, GATEWAY_PACKAGE));
    const { data } = manifestSchema.safeParse(manifestIn(folder, system));
    if (data === undefined || ![folder, join(folder, data.bin.postern)].every(isTrusted)) continue;
    const [needs = '0'] = /\d+(?:\.\d+)*/.exec(data.engines?.node ?? '') ?? [];
    return { version: data.version, program: join(folder, data.bin.postern), needs };
  }
  return undefined;
}

/**
 * Whether something is of this user, or of root. A folder above, such as /tmp, may have been filled by another user. Package managers link
 * packages, so both ends of a link count.
 */
function isOurs(path: string, { uid }: System): boolean {
  try {
    const ends = [lstatSync(path), statSync(path)];
    return ends.every(stats => uid === undefined || stats.uid === uid || stats.uid === 0);
  } catch {
    // Nothing is there, or this user may not look.
    return false;
  }
}

const MAX_MANIFEST_BYTES = 1024 * 1024;

/** The package.json of a folder. Undefined for one of another user, and for what is none. */
function manifestIn(folder: string, system: System): unknown {
  const path = join(folder, 'package.json');
  if (!isOurs(path, system)) return undefined;
  const stats = statSync(path);
  return stats.isFile() && stats.size <= MAX_MANIFEST_BYTES ? jsonOf(readFileSync(path, 'utf8')) : undefined;
}

/** Package managers link the program. */
function realPathOf(script: string): string {
  try {
    return realpathSync(script);
  } catch {
    return script;
  }
}

const namedSchema = z.object({ name: serverNameSchema });

/** The name of the package of the running program, or else of the program with a digest of its path: many are `server.js`. */
export function nameOfServer(script: string | undefined, system: System): string {
  if (script === undefined) return 'mcp-server';
  const path = realPathOf(script);
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const { data } = namedSchema.safeParse(manifestIn(folder, system));
    if (data !== undefined) return data.name;
  }
  const digest = createHash('sha256').update(path).digest('hex').slice(0, 8);
  const name = basename(path, extname(path))
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, 55);
  return `${name}-${digest}`;
}
