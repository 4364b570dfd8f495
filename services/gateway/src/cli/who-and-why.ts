import { userInfo } from 'node:os';
import { UsageError } from './cli-io.ts';

/** Who changed something, as claimed, and why: both are in the audit event. */
export interface Change {
  readonly by: string;
  readonly reason: string;
}

/** One line without control characters. */
const TEXT = /^[^\p{C}\u2028\u2029]{1,200}$/u;

/** Reads `--by` and `--reason`. @throws UsageError */
export function changeOf(p: { readonly by?: string | undefined; readonly reason?: string | undefined }): Change {
  const { by = userInfo().username, reason } = p;
  if (reason === undefined) throw new UsageError('--reason is required: say why, for the audit trail.');
  for (const [option, value] of Object.entries({ by, reason }))
    if (!TEXT.test(value)) throw new UsageError(`--${option} must have 1 to 200 characters on one line.`);
  return { by, reason };
}
