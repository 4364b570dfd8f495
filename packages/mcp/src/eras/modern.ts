import type { ElicitationBody } from '@postern/api';
import { aboutOf } from '../ask.ts';
import { isTerminal } from '../elicitation-status.ts';
import { hold } from '../hold.ts';
import type { RequestState } from '../request-state.ts';
import { assertInTime, type Inquiry, type Resolution, type Run } from '../run.ts';
import { lastExpiry } from '../steps.ts';
import { Suspension } from '../suspension.ts';
import type { ModernCall, ToolAnswer } from '../tool-call.ts';
import { incapable, plainSuspension } from './plain.ts';
import type { OpenElicitation } from './pursue.ts';

/** Milliseconds past the expiry of a question during which a retry is still told that it expired. */
const STATE_GRACE_MS = 300_000;

/**
 * Revision 2026-07-28, multi round-trip requests. The first answer asks (`input_required` with an `elicitUrl`); each retry
 * is held while the user is busy and then answered with a state-only round. The protocol has neither a pacing rule nor a
 * way to say "still waiting for long", and MCP clients give up after a number of rounds, so the last answer is a plain
 * result.
 */
export async function pursueModern(run: Run<ModernCall>, inquiry: Inquiry, open: OpenElicitation): Promise<Resolution> {
  if (!open.isRetry) throw await question(run, inquiry, open.elicitation);
  return await resume(run, inquiry, open.elicitationId);
}

async function resume(run: Run<ModernCall>, inquiry: Inquiry, elicitationId: string): Promise<Resolution> {
  const { environment, call, requestState } = run;
  const wasAsked = requestState?.phase === 'ask';
  const action = wasAsked ? call.clientAnswer?.action : 'accept';
  if (action === 'accept') {
    const elicitation = await hold(run, inquiry, elicitationId);
    if (isTerminal(elicitation)) return { by: 'gateway', elicitation };
    await assertInTime(run, inquiry);
    throw await furtherRound(run, inquiry, elicitation, 'wait');
  }

  // The stored status comes before anything an MCP client says: some answer for the user without asking.
  const elicitation = await environment.client.read(elicitationId, 0, inquiry.signal);
  if (isTerminal(elicitation)) return { by: 'gateway', elicitation };
  if (action !== undefined) return { by: 'mcp-client', action };
  await assertInTime(run, inquiry);
  throw await question(run, inquiry, elicitation);
}

async function question(run: Run<ModernCall>, inquiry: Inquiry, elicitation: ElicitationBody): Promise<Error> {
  if (run.call.declaresUrl) return await furtherRound(run, inquiry, elicitation, 'ask');
  return incapable(run, inquiry.ask, elicitation);
}

async function furtherRound(
  run: Run<ModernCall>,
  inquiry: Inquiry,
  elicitation: ElicitationBody,
  phase: RequestState['phase'],
): Promise<Suspension> {
  if (!hasRoundLeft(run)) return plainSuspension(run, inquiry.ask, elicitation);
  const { matchCode, url } = elicitation;
  const message = run.environment.text({ kind: 'ask', about: aboutOf(inquiry.ask, elicitation), matchCode });
  return await inputRequired(run, inquiry.key, phase, phase === 'ask' ? { mode: 'url', url, message } : undefined);
}

/** Rounds count across all questions of one call, as the MCP client counts them. */
export function hasRoundLeft({ environment, requestState }: Run): boolean {
  return (requestState?.round ?? 0) < environment.maxRounds;
}

/** Ends this round; the sealed state carries all that the call has asked so far to the next one. */
export async function inputRequired(
  run: Run<ModernCall>,
  open: string,
  phase: RequestState['phase'],
  request: Extract<ToolAnswer, { type: 'input_required' }>['request'],
): Promise<Suspension> {
  const { issuer, subject } = await run.principal();
  const steps = (await run.steps()).list();
  const requestState = await run.environment.codec.seal({
    issuer,
    subject,
    tool: run.call.toolName ?? '',
    args: run.argsDigest,
    steps: [...steps],
    open,
    phase,
    round: (run.requestState?.round ?? 0) + 1,
    exp: Math.ceil((lastExpiry(steps) + STATE_GRACE_MS) / 1000),
  });
  return new Suspension({ type: 'input_required', request, requestState });
}
