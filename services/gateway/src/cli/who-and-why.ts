import { userInfo } from 'node:os';
import type { Actor } from '../admin/admin-audit.ts';
import { UsageError } from './cli-io.ts';

/** Who changed something, as claimed, and why: both are in the audit event. */
export interface Change {
  readonly by: string;
  readonly reason: string;
}

interface Options {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** One line without control characters. */
const TEXT = /^[^\p{C}\u2028\u2029]{1,200}$/u;

/** Reads `--by`, by default the user of this machine, and `--reason` if it was given. @throws UsageError */
function whoAndWhyOf({ by = userInfo().username, reason }: Options): Pick<Change, 'by'> & Partial<Change> {
  const given = { by, reason };
  for (const [option, value] of Object.entries(given))
    if (value !== undefined && !TEXT.test(value))
      throw new UsageError(`--${option} must have 1 to 200 characters on one line.`);
  return given;
}

/** Reads `--by` and `--reason`. @throws UsageError */
export function changeOf(p: Options): Change {
  const { by, reason } = whoAndWhyOf(p);
  if (reason === undefined) throw new UsageError('--reason is required: say why, for the audit trail.');
  return { by, reason };
}

/** The operator of a command: as named, or the user of this machine. @throws UsageError */
export function actorOf(p: { readonly by?: string | undefined; readonly reason?: string | undefined }): Actor {
  const { by: who, reason } = whoAndWhyOf(p);
  return { who, door: 'command_line', reason };
}
