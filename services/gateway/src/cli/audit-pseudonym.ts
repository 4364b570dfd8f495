import type { Subject } from '@postern/elicitation';
import { loadConfig } from '../config/load-config.ts';
import { pseudonymsOf } from '../pseudonyms.ts';
import { type CliIo, type ExitCode, exitCodes } from './cli-io.ts';

/** `postern audit pseudonym`: under which name a person stands in the audit trail. Asks neither Redis nor the gateway. */
export function auditPseudonym(p: { readonly configPath: string; readonly subject: Subject }, io: CliIo): ExitCode {
  io.out(`${pseudonymsOf(loadConfig(p.configPath, io.env))(p.subject)}\n`);
  return exitCodes.fine;
}
