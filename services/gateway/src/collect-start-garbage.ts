import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { z } from 'zod';

const collectorSchema = z.custom<(options: Readonly<Record<string, string>>) => void>(
  value => typeof value === 'function',
);

/**
 * Compiling and checking at the start leaves tens of megabytes of garbage and half-empty pages, and a process that then has nothing to
 * do never collects them. Takes some tens of milliseconds, in which nobody is served: once, before the process says that it
 * has started.
 */
export function collectStartGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = collectorSchema.parse(runInNewContext('gc'));
  setFlagsFromString('--no-expose-gc');
  // Unlike an ordinary collection it also gives the pages back.
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
