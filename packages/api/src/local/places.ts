import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod/v4';
import { LocalError } from './messages.ts';
import { assertPrivate, claimFolder } from './private-files.ts';
import type { System } from './system.ts';

/**
 * The folder of a person's own gateway: configuration, vault key, store and log. MCP clients hand down few variables, `HOME` among them.
 * @throws LocalError `no_home`
 */
export function personalFolder(system: Pick<System, 'platform' | 'env' | 'home'>): string {
  const { platform, env } = system;
  const { join, normalize, isAbsolute } = platform === 'win32' ? path.win32 : path.posix;
  const own = env['POSTERN_HOME'];
  if (own) {
    if (isAbsolute(own)) return normalize(own);
    throw new LocalError('no_home', 'POSTERN_HOME is a relative path: set it to an absolute one.');
  }
  /** As in the XDG Base Directory Specification, a relative path is ignored. */
  const inVariable = (name: string, ...otherwise: readonly string[]) => {
    const folder = env[name] ?? '';
    return isAbsolute(folder) ? folder : join(system.home, ...otherwise);
  };
  if (platform === 'win32') return join(inVariable('LOCALAPPDATA', 'AppData', 'Local'), 'Postern');
  if (platform === 'darwin') return join(system.home, 'Library', 'Application Support', 'Postern');
  return join(inVariable('XDG_STATE_HOME', '.local', 'state'), 'postern');
}

/** The file in the folder of `postern dev` that `@postern/mcp` reads. */
export const MCP_SERVER_FILE = 'mcp-server.json';
export const mcpServerFileSchema = z.object({ url: z.url(), apiKey: z.string().min(1) });

/** The one user of a gateway that serves the person of this machine, as MCP servers name him. */
export const PERSON = { issuer: 'http://localhost', subject: 'me' } as const;

/** Files of a personal gateway. */
export const personalFiles = (folder: string) => ({
  folder,
  config: path.join(folder, 'postern.config.yaml'),
  vaultKey: path.join(folder, 'vault.key'),
  store: path.join(folder, 'postern.sqlite'),
  log: path.join(folder, 'postern.log'),
});

/** The shortest limit of the path of a Unix socket is 104 bytes, with the final zero (macOS). */
const MAX_SOCKET_BYTES = 100;

/** Where a gateway listens for its owner. */
export interface SocketPlace {
  readonly path: string;
  /**
   * Private to the user. Undefined on Windows: by default everyone may read from a named pipe there, and its owner, administrators and the
   * system may write (Microsoft, "Named Pipe Security and Access Rights"). So on every system, both sides first prove that they have read
   * the key in `linkFileOf`.
   */
  readonly folder: string | undefined;
  /** Made for this socket only. */
  readonly isTemporary: boolean;
}

/**
 * Where the gateway of a store can listen, best first. In a folder of all users, another user may have taken the name first: then a
 * random name follows. Never creates the folder of the store: without it, the store has gone too.
 */
export function* socketPlaces(storeFile: string, system: Omit<System, 'home'>): Generator<SocketPlace, void> {
  const digest = createHash('sha256').update(storeFile).digest('hex').slice(0, 16);
  if (system.platform === 'win32') {
    yield { path: `\\\\.\\pipe\\postern-${digest}`, folder: undefined, isTemporary: false };
    return;
  }
  const { join, isAbsolute, dirname } = path.posix;
  const pathIn = (folder: string) => join(folder, `postern-${digest}.sock`);
  const fits = (folder: string) => Buffer.byteLength(pathIn(folder)) <= MAX_SOCKET_BYTES;
  const runtime = system.env['XDG_RUNTIME_DIR'] ?? '';
  const lasting = [
    { folder: dirname(storeFile), claim: assertPrivate },
    ...(isAbsolute(runtime) ? [{ folder: join(runtime, 'postern'), claim: claimFolder }] : []),
  ];
  for (const { folder, claim } of lasting) {
    if (fits(folder) && isPrivate(folder, claim, system)) yield { path: pathIn(folder), folder, isTemporary: false };
  }
  // A gateway that was killed leaves its folder, and the next one finds it by this name.
  const own = createHash('sha256').update(`${system.uid} ${storeFile}`).digest('hex').slice(0, 6);
  for (const above of new Set([system.tmpdir, '/tmp'])) {
    const named = join(above, `postern-${own}`);
    if (!fits(named) || !existsSync(above)) continue;
    const folder = isPrivate(named, claimFolder, system) ? named : mkdtempSync(join(above, 'postern-'));
    yield { path: pathIn(folder), folder, isTemporary: true };
  }
}

function isPrivate(folder: string, claim: typeof claimFolder, system: Omit<System, 'home'>): boolean {
  try {
    claim(folder, system);
    return true;
  } catch (error) {
    if (error instanceof LocalError) return false;
    throw error;
  }
}
