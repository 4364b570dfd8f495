import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { claimFolder, LocalError, thisSystem } from '@postern/api/local';
import { CliError, type CliFiles, type CliIo, UsageError } from './cli-io.ts';

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
  try {
    claimFolder(path, thisSystem());
  } catch (error) {
    throw error instanceof LocalError ? new CliError(error.message) : error;
  }
}

/**
 * Returns the text of a file in a private folder, after writing it to the disk if it does not exist. Concurrent callers get the same text.
 * @throws CliError
 */
export function readOrCreate(path: string, create: () => string): string {
  const read = () => {
    if (!existsSync(path)) createOnce(path, create());
    return readFileSync(path, 'utf8').trim();
  };
  return attempt(read, error => new CliError(`${path} cannot be used (${codeOf(error) ?? 'unexpected'}).`));
}

/** Writes a file, unless there is one. What is sealed with a key must not outlive it, so the file is on the disk before anything uses it. */
function createOnce(path: string, text: string): boolean {
  const temporary = temporaryBeside(path);
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    // Unlike rename, link never replaces the file of another process.
    linkSync(temporary, path);
    syncFolder(dirname(path));
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function syncFolder(path: string): void {
  // Windows opens no folders.
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
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

/** Files of this process. */
const ownFiles: CliFiles = {
  async read(path) {
    if (path === '-' && isatty(0)) throw new UsageError('Pipe the text into the command: a terminal would keep it.');
    try {
      return readFileSync(path === '-' ? 0 : path, 'utf8').trim();
    } catch {
      throw new CliError(`${path} cannot be read.`);
    }
  },
  async create(path) {
    const write = newPrivateFile(path);
    return async text => write(text);
  },
};

/** Files of the operator who called the command. */
export const filesOf = ({ files = ownFiles }: Pick<CliIo, 'files'>): CliFiles => files;

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
  using _ = attempt(() => lockOf(target), failed);
  const temporary = temporaryBeside(target);
  const file = attempt(() => openSync(temporary, 'wx', 0o600), failed);
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
  } finally {
    closeSync(file);
    rmSync(temporary, { force: true });
  }
}

/** Until disposed of, only this process edits the file. @throws CliError */
function lockOf(target: string): Disposable {
  const lock = join(dirname(target), `.${basename(target)}.lock`);
  const mine = `${process.pid} ${hostname()} ${randomBytes(8).toString('hex')}`;
  if (!createOnce(lock, mine)) {
    removeLeft(lock);
    if (!createOnce(lock, mine))
      throw new CliError(`Another command edits ${target}. If none runs, one was interrupted: delete ${lock}.`);
  }
  return { [Symbol.dispose]: () => rmSync(lock, { force: true }) };
}

/**
 * Removes a lock of a process that has ended. Only who has linked it under the name of its holder removes it, and only while it is the lock
 * of that holder: another command may have replaced it since.
 */
function removeLeft(lock: string): void {
  const holder = textOf(lock);
  const [pid, host, token = ''] = holder?.split(' ') ?? [];
  if (!/^[0-9a-f]{16}$/.test(token) || host !== hostname() || isRunning(Number(pid))) return;
  const taken = `${lock}.${token}`;
  try {
    linkSync(lock, taken);
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (textOf(taken) === holder) rmSync(lock);
  rmSync(taken);
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

function attempt<T>(work: () => T, failed: (error: unknown) => CliError): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof CliError ? error : failed(error);
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
