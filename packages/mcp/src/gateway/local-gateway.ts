import { lstatSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  folderFault,
  isOwn,
  LocalError,
  MCP_SERVER_FILE,
  mcpServerFileSchema,
  readPrivateFile,
  type System,
  thisSystem,
} from '@postern/api/local';
import type { z } from 'zod/v4';
import { invalidOptions as invalid, jsonOf, PosternUsageError } from '../errors.ts';
import { isLoopback } from '../safe-http.ts';
import { lazyClient } from './client.ts';
import type { GateCheck } from './gate-check.ts';

/** The folder that `npx @postern/gateway dev` writes. */
const FOLDER = '.postern';

type McpServerFile = z.infer<typeof mcpServerFileSchema>;

/** The options that name a gateway. */
interface NamedGateway {
  readonly url?: string;
  readonly apiKey?: string;
  readonly auth?: object;
}

/**
 * Completes the address and the API key of the gateway: from `POSTERN_URL` and `POSTERN_API_KEY`; if neither these nor the options have
 * anything, from the nearest `.postern` folder of a development gateway, from the working directory upwards.
 * Undefined if there is no gateway at all. The gateway of a folder serves the person of this machine only.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function completed<Options extends NamedGateway>(
  options: Options,
): (Options & { readonly url: string; readonly isOfFolder?: true }) | undefined {
  // Secrets often end with the line break of the command that wrote them.
  const variables = { url: process.env['POSTERN_URL']?.trim(), apiKey: process.env['POSTERN_API_KEY']?.trim() };
  const url = options.url ?? (variables.url || undefined);
  const apiKey = options.apiKey ?? (options.auth === undefined ? variables.apiKey || undefined : undefined);
  if (url !== undefined) return { ...options, url, ...(apiKey === undefined ? {} : { apiKey }) };
  // A credential for one gateway never goes to another one that a folder names.
  if (apiKey !== undefined || options.auth !== undefined)
    throw invalid('url: set the address of the gateway, or POSTERN_URL.');
  const found = inFolderAbove(process.cwd());
  return found && { ...options, ...found, isOfFolder: true };
}

/** Skips folders of other users, who may write to a folder above, such as /tmp. */
function inFolderAbove(start: string, system = thisSystem()): McpServerFile | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    const place = join(folder, FOLDER);
    const stats = lstatSync(place, { throwIfNoEntry: false });
    const found =
      stats?.isDirectory() === true && isOwn(stats, place, system) ? readPrivate(place, stats, system) : undefined;
    if (found !== undefined) return found;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Only its owner can put anything into the folder, so no other user can replace the file between check and read. */
function readPrivate(place: string, stats: Stats, system: System): McpServerFile | undefined {
  const path = join(place, MCP_SERVER_FILE);
  try {
    const text = readPrivateFile(path, system);
    const fault = text === undefined ? undefined : folderFault(place, stats, system);
    if (fault !== undefined) throw invalid(fault);
    return text === undefined ? undefined : parsed(path, text);
  } catch (error) {
    throw error instanceof LocalError ? invalid(error.message) : error;
  }
}

/** Error messages never quote the file. */
function parsed(path: string, text: string): McpServerFile {
  const { data } = mcpServerFileSchema.safeParse(jsonOf(text));
  if (data === undefined) throw invalid(`${path}: not written by the gateway.`);
  if (!isLoopback(new URL(data.url))) throw invalid(`${path}: names a gateway that is not on this machine.`);
  return data;
}

const MESSAGE =
  'This needs a gateway: set url and apiKey, or POSTERN_URL and POSTERN_API_KEY, or start `npx @postern/gateway dev` in this folder. ' +
  'A stdio server starts one itself with the package @postern/gateway beside it (npm install @postern/gateway). ' +
  'Only forms that the MCP client shows itself work without one.';

/** @param text why, if it is not that there is none */
export const missingGateway = (text = MESSAGE): PosternUsageError => new PosternUsageError('no_gateway', text);

const gateCheck: GateCheck = {
  run: async () => ({ faults: [{ code: 'no_gateway', message: MESSAGE }], caller: undefined }),
  // Nothing is wrong before something needs the gateway.
  begin() {},
  expect() {
    throw missingGateway();
  },
  close() {},
};

/** Stands in for the gateway where there is none. Everything but a form of the MCP client fails with an error that says so. */
export const noGateway = {
  client: lazyClient(() => Promise.reject(missingGateway())),
  gateCheck,
  tracedClient: undefined,
  sealedOpener: undefined,
};
