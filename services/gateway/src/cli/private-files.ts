import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CliError } from './cli-io.ts';

/** A file to write, which only its owner may read. */
export interface PrivateFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Creates a folder that only this user may open, or verifies that an existing one is so.
 * @throws CliError
 */
export function claimPrivateFolder(path: string): void {
  // The umask may only take away permissions, but a folder above may have a default access control list.
  if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(path, 0o700);
  const stats = lstatSync(path);
  if (!stats.isDirectory()) throw new CliError(`${path} is not a folder.`);
  if (process.getuid !== undefined && stats.uid !== process.getuid())
    throw new CliError(`${path} belongs to another user.`);
  if ((stats.mode & 0o077) !== 0) throw new CliError(`Other users may open ${path}. Run chmod 700 on it.`);
}

/** Returns the text of a file in a private folder, after writing it if it does not exist. Concurrent callers get the same text. */
export function readOrCreate(path: string, create: () => string): string {
  const temporary = temporaryBeside(path);
  if (!existsSync(path)) {
    writeFileSync(temporary, create(), { mode: 0o600, flag: 'wx' });
    try {
      // Unlike rename, link never replaces the file of another process.
      linkSync(temporary, path);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    } finally {
      rmSync(temporary);
    }
  }
  return readFileSync(path, 'utf8').trim();
}

/** Writes a file of a private folder, as one step for its readers. */
export function replace({ path, text }: PrivateFile): void {
  const temporary = temporaryBeside(path);
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, path);
}

/**
 * Creates an empty file that only its owner can read, and returns how to write to it: a key that cannot be written would be lost.
 * @throws CliError
 */
export function newPrivateFile(out: string): (text: string) => void {
  const path = resolve(out);
  try {
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new CliError(
      codeOf(error) === 'EEXIST'
        ? `${path} already exists; nothing was written.`
        : `Cannot write ${path}; nothing was written.`,
    );
  }
  return text => writeFileSync(path, text);
}

/**
 * Replaces the text of a file of the operator as one step for its readers, and keeps its owner and permissions. Only one caller at a time
 * edits a file, and none overwrites a change that it has not seen.
 * @param edit returns the new text, or throws to leave the file as it is
 * @throws CliError
 */
export function editFile(path: string, edit: (text: string) => string): void {
  const failed = (error: unknown) =>
    new CliError(`Cannot write ${path} (${codeOf(error) ?? 'unexpected'}). It is unchanged.`);
  const target = attempt(() => realpathSync(path), failed);
  // The name is fixed: the file is also the lock.
  const temporary = join(dirname(target), `.${basename(target)}.edited`);
  const file = attempt(
    () => openSync(temporary, 'wx', 0o600),
    error =>
      codeOf(error) === 'EEXIST'
        ? new CliError(`Another command edits ${path}. If none runs, one was interrupted: delete ${temporary}.`)
        : failed(error),
  );
  try {
    const { mode, uid, gid } = statSync(target);
    const before = readFileSync(target, 'utf8');
    const text = edit(before);
    attempt(() => {
      writeFileSync(file, text);
      const own = fstatSync(file);
      if (own.uid !== uid || own.gid !== gid) fchownSync(file, uid, gid);
      fchmodSync(file, mode & 0o777);
      fsyncSync(file);
    }, failed);
    // An editor does not know of the lock.
    if (readFileSync(target, 'utf8') !== before) throw new CliError(`${path} has just been changed. Try again.`);
    attempt(() => renameSync(temporary, target), failed);
  } catch (error) {
    // After the rename, the name may be the lock of another command.
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

function attempt<T>(work: () => T, failed: (error: unknown) => CliError): T {
  try {
    return work();
  } catch (error) {
    throw failed(error);
  }
}

/**
 * Writes all files, or leaves everything as it was. Their folders exist.
 * @param p.force replaces existing files and keeps each as `{path}.bak`, because a lost key cannot be restored
 * @throws CliError
 */
export function writeAll(files: readonly PrivateFile[], p: { readonly force: boolean }): void {
  const staged = files.map(file => ({ ...file, temporary: temporaryBeside(file.path) }));
  const undo: (() => void)[] = [];
  try {
    for (const { temporary, text } of staged) writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
    for (const { path, temporary } of staged) undo.push(put(temporary, path, p.force));
  } catch (error) {
    for (const step of undo.toReversed()) step();
    if (error instanceof CliError) throw error;
    throw new CliError(`Cannot write the files (${codeOf(error) ?? 'unexpected'}). Nothing was written.`);
  } finally {
    for (const { temporary } of staged) rmSync(temporary, { force: true });
  }
}

/** Returns how to undo it. */
function put(temporary: string, path: string, force: boolean): () => void {
  const backup = `${path}.bak`;
  const hasBackup = force && existsSync(path);
  if (hasBackup) moveAside(path, backup);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (hasBackup) renameSync(backup, path);
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new CliError(`${path} already exists. Nothing was written. --force replaces it and keeps it as ${backup}.`);
  }
  return () => (hasBackup ? renameSync(backup, path) : rmSync(path));
}

function moveAside(path: string, backup: string): void {
  try {
    linkSync(path, backup);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new CliError(`${backup} already exists. Nothing was written. Move it away first.`);
  }
  rmSync(path);
}

const temporaryBeside = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`);

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
