import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod/v4';
import { invalidOptions as invalid } from './errors.ts';
import type { PosternOptions } from './options.ts';
import { jsonOf } from './parse-strictly.ts';
import { isLoopback } from './secure-url.ts';

/** The folder and the file that `npx @postern/gateway dev` writes. */
const FOLDER = '.postern';
const FILE = 'mcp-server.json';

const LARGEST_FILE_BYTES = 4_096;
const fileSchema = z.object({ url: z.url(), apiKey: z.string().min(1) });

export const NO_GATEWAY_ADVICE =
  'set url and apiKey, or POSTERN_URL and POSTERN_API_KEY, or start `npx @postern/gateway dev` in this folder.';

/**
 * Completes the address and the API key of the gateway: from `POSTERN_URL` and `POSTERN_API_KEY`; if neither these nor the options have
 * anything, from the nearest `.postern` folder of a development gateway, from the working directory upwards.
 * Undefined if there is no gateway at all.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function completed<Context>(
  options: PosternOptions<Context>,
): (PosternOptions<Context> & { url: string }) | undefined {
  // Secrets often end with the line break of the command that wrote them.
  const variables = { url: process.env['POSTERN_URL']?.trim(), apiKey: process.env['POSTERN_API_KEY']?.trim() };
  const url = options.url ?? (variables.url || undefined);
  const apiKey = options.apiKey ?? (options.auth === undefined ? variables.apiKey || undefined : undefined);
  if (url !== undefined) return { ...options, url, ...(apiKey === undefined ? {} : { apiKey }) };
  // A credential for one gateway never goes to another one that a folder names.
  if (apiKey !== undefined || options.auth !== undefined)
    throw invalid('url: set the address of the gateway, or POSTERN_URL.');
  const found = inFolderAbove(process.cwd());
  return found && { ...options, ...found };
}

/** Skips folders of other users, who may write to a folder above, such as /tmp. */
function inFolderAbove(start: string): z.infer<typeof fileSchema> | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    const place = join(folder, FOLDER);
    const stats = lstatSync(place, { throwIfNoEntry: false });
    const found = stats?.isDirectory() === true && isOwn(stats) ? readPrivate(place, stats) : undefined;
    if (found !== undefined) return found;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Only its owner can put anything into the folder, so no other user can replace the file between check and read. */
function readPrivate(place: string, stats: Stats): z.infer<typeof fileSchema> | undefined {
  const path = join(place, FILE);
  const listed = lstatSync(path, { throwIfNoEntry: false });
  if (listed === undefined) return undefined;
  if (isOpenToOthers(stats)) throw invalid(`${place}: other users may open this folder; run chmod 700.`);
  if (!listed.isFile()) throw invalid(`${path}: not a file.`);
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = fstatSync(file);
    if (!isOwn(opened) || isOpenToOthers(opened))
      throw invalid(`${path}: must be a file that only its owner, this user, may read; run chmod 600.`);
    if (opened.size > LARGEST_FILE_BYTES) throw invalid(`${path}: not written by the gateway.`);
    return parsed(path, readFileSync(file, 'utf8'));
  } finally {
    closeSync(file);
  }
}

/** Error messages never quote the file. */
function parsed(path: string, text: string): z.infer<typeof fileSchema> {
  const { data } = fileSchema.safeParse(jsonOf(text));
  if (data === undefined) throw invalid(`${path}: not written by the gateway.`);
  if (!isLoopback(new URL(data.url))) throw invalid(`${path}: names a gateway that is not on this machine.`);
  return data;
}

/** False on Windows, which has no such owners: there, set the options or the variables. */
const isOwn = (stats: Stats): boolean => stats.uid === process.getuid?.();
const isOpenToOthers = (stats: Stats): boolean => (stats.mode & 0o077) !== 0;
