import type { ElicitationBody } from '@postern/api';
import { type Ask, naming } from '../ask.ts';
import { isTerminal } from '../elicitation-status.ts';
import { hold } from '../hold.ts';
import type { RequestState } from '../request-state.ts';
import type { Resolution, Run } from '../run.ts';
import { Suspension } from '../suspension.ts';
import type { ModernCall } from '../tool-call.ts';
import { incapableSuspension, plainSuspension } from './plain.ts';
import type { OpenElicitation } from './pursue.ts';

/** Seconds past the elicitation's expiry during which a retry is still told that it expired. */
const STATE_GRACE_SECONDS = 300;

/**
 * Revision 2026-07-28, multi round-trip requests. The first answer asks (`input_required` with an `elicitUrl`); each retry
 * is held while the user is busy and then answered with a state-only round. The protocol has neither a pacing rule nor a
 * way to say "still waiting for long", and MCP clients give up after a number of rounds, so the last answer is a plain
 * result.
 */
export async function pursueModern(
  run: Run<ModernCall>,
  ask: Ask,
  open: OpenElicitation,
  signal: AbortSignal,
): Promise<Resolution> {
  if (!open.isRetry) throw await question(run, ask, open.elicitation);
  return await resume(run, ask, open.elicitationId, signal);
}

async function resume(run: Run<ModernCall>, ask: Ask, elicitationId: string, signal: AbortSignal): Promise<Resolution> {
  const { environment, call, requestState } = run;
  const wasAsked = requestState?.phase === 'ask';
  const action = wasAsked ? call.clientAction : 'accept';
  if (action === 'accept') {
    const elicitation = await hold(run, elicitationId, ask, signal);
    if (isTerminal(elicitation)) return { by: 'gateway', elicitation };
    throw await furtherRound(run, ask, elicitation, 'wait');
  }

  // The stored status comes before anything an MCP client says: some answer for the user without asking.
  const elicitation = await environment.client.read(elicitationId, 0, signal);
  if (isTerminal(elicitation)) return { by: 'gateway', elicitation };
  if (action === undefined) throw await question(run, ask, elicitation);
  return { by: 'mcp-client', action };
}

async function question(run: Run<ModernCall>, ask: Ask, elicitation: ElicitationBody): Promise<Suspension> {
  if (run.call.declaresUrl) return await furtherRound(run, ask, elicitation, 'ask');
  if (run.environment.missingCapability === 'error') return incapableSuspension(run, ask, elicitation);
  return await plainSuspension(run, ask, elicitation);
}

async function furtherRound(
  run: Run<ModernCall>,
  ask: Ask,
  elicitation: ElicitationBody,
  phase: RequestState['phase'],
): Promise<Suspension> {
  const { codec, maxRounds, text } = run.environment;
  // Rounds count across all asks of one call, as the MCP client counts them.
  const round = (run.requestState?.round ?? 0) + 1;
  if (round > maxRounds) return await plainSuspension(run, ask, elicitation);
  const { issuer, subject } = await run.principal();
  const { elicitationId, matchCode, url } = elicitation;
  const requestState = await codec.seal({
    elicitationId,
    issuer,
    subject,
    tool: run.call.toolName ?? '',
    args: run.argsDigest,
    ask: ask.digest,
    phase,
    round,
    exp: Math.ceil(Date.parse(elicitation.expiresAt) / 1000) + STATE_GRACE_SECONDS,
  });
  const message = text({ kind: 'ask', ...naming(ask, elicitation), matchCode });
  return new Suspension({
    type: 'input_required',
    request: phase === 'ask' ? { url, message } : undefined,
    requestState,
  });
}
