import type { ElicitationBody } from '@postern/api';
import type { Ask } from '../ask.ts';
import type { Run } from '../run.ts';
import type { LegacyStatelessCall } from '../tool-call.ts';
import { incapableSuspension, plainSuspension, urlRequiredSuspension } from './plain.ts';

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
  const { assumeUrlCapability, missingCapability } = run.environment;
  if (!assumeUrlCapability) {
    throw missingCapability === 'error'
      ? incapableSuspension(run, ask, elicitation)
      : await plainSuspension(run, ask, elicitation);
  }
  throw await urlRequiredSuspension(run, ask, elicitation);
}
