import { fchmodSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { CliError } from '../cli/cli-io.ts';

/** A log that its reader can open in any editor. */
const MAX_BYTES = 5 * 1024 * 1024;

/** Appends to a file that only its owner can read. It starts anew when it has become too large. Writes at once, as the log of a process does. @throws CliError */
export function openLogFile(path: string, maxBytes = MAX_BYTES): Writable {
  const file = opened(path);
  let isLost = false;
  let size = fstatSync(file).size;
  return new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      try {
        if (size + chunk.length > maxBytes) {
          ftruncateSync(file, 0);
          size = 0;
        }
        size += writeSync(file, chunk);
        done();
        isLost = false;
      } catch (error) {
        // A full disk must not end the gateway.
        if (!isLost) process.stderr.write(`${path} takes no more lines (${codeOf(error)}).\n`);
        isLost = true;
        done();
      }
    },
  });
}

function opened(path: string): number {
  try {
    const file = openSync(path, 'a', 0o600);
    fchmodSync(file, 0o600);
    return file;
  } catch (error) {
    throw new CliError(`${path} cannot be written (${codeOf(error)}).`);
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unexpected';
