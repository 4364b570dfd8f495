import type { ElicitationBody } from '@postern/api';
import type { Inquiry, Resolution, Run } from '../run.ts';
import { pursueInLegacySession } from './legacy-session.ts';
import { pursueStateless } from './legacy-stateless.ts';
import { pursueModern } from './modern.ts';

/** An elicitation that is (as far as known) still open, and whether this call was already answered with it. */
export type OpenElicitation =
  | { readonly isRetry: false; readonly elicitation: ElicitationBody }
  | { readonly isRetry: true; readonly elicitationId: string };

/**
 * Brings the question to the user in the way of the connected MCP client.
 *
 * @throws {Suspension} when this call has to end before the user has decided
 * @throws {CapabilityMissingError}
 * @throws {ElicitationTimeoutError}
 */
export async function pursue(run: Run, inquiry: Inquiry, open: OpenElicitation): Promise<Resolution> {
  const { call } = run;
  if (call.era === 'modern') return await pursueModern({ ...run, call }, inquiry, open);
  // Only the modern era carries a requestState, so there is nothing to resume here.
  if (open.isRetry) throw new TypeError('requestState outside its era');
  if (call.era === 'legacy-session') return await pursueInLegacySession({ ...run, call }, inquiry, open.elicitation);
  return await pursueStateless({ ...run, call }, inquiry.ask, open.elicitation);
}
