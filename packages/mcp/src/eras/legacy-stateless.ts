import type { ElicitationBody } from '@postern/api';
import type { Ask } from '../ask.ts';
import type { Run } from '../run.ts';
import type { LegacyStatelessCall } from '../tool-call.ts';
import { incapable, urlRequiredSuspension } from './plain.ts';

/**
 * Revision 2025-11-25 without a session: the capabilities were declared in an `initialize` that another instance answered,
 * so they are unknown here, and there is no stream for a completion notice. −32042 is sent only where the operator vouches
 * that every MCP client of this server declares `elicitation.url` and retries without waiting for the notice.
 */
export async function pursueStateless(
  run: Run<LegacyStatelessCall>,
  ask: Ask,
  elicitation: ElicitationBody,
): Promise<never> {
  if (run.environment.assumeUrlCapability) throw urlRequiredSuspension(run, ask, elicitation);
  throw incapable(run, ask, elicitation);
}
