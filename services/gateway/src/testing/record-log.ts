import { Writable } from 'node:stream';
import type { LevelWithSilent } from 'pino';
import { createLogger, type Logger } from '../platform/logger.ts';

/** A logger whose lines a test reads: as they were written, or parsed. */
export function recordLog(level: LevelWithSilent = 'info'): {
  readonly logger: Logger;
  text(): string;
  lines(): readonly Readonly<Record<string, unknown>>[];
} {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return {
    logger: createLogger({ level, destination }),
    text: () => text,
    lines: () =>
      text
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line)),
  };
}
