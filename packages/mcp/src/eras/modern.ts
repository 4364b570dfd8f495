import type { ElicitationBody } from '@postern/api';
import { isTerminal } from '../gateway/client.ts';
import { lastEnd } from '../run/ask-log.ts';
import type { RequestState } from '../run/request-state.ts';
import { type Ask, type AskEnd, assertInTime, denialMeta, hold, type ToolRun, urlElicitation } from '../run/run.ts';
import { handlerOf, type ModernCall, Suspension, type ToolAnswer } from '../run/tool-call.ts';
import { incapable, plainSuspension } from './plain.ts';

/** Milliseconds after the end of an ask during which a retry still learns that it expired. */
const STATE_GRACE_MS = 300_000;

/**
 * Revision 2026-07-28, multi round-trip requests. The first answer asks (`input_required` with an `elicitUrl`); each retry
 * is held while the user is busy and then answered with a state-only round. The protocol has neither a pacing rule nor a
 * way to say "still waiting for long", and MCP clients give up after a number of rounds, so the last answer is a plain
 * result.
 */
export async function presentModern(run: ToolRun<ModernCall>, ask: Ask, elicitation: ElicitationBody): Promise<Error> {
  if (run.call.declaresUrl) return await furtherRound(run, ask, elicitation, 'ask');
  return incapable(run, ask, elicitation);
}

/** A retry that carries the state of this ask. */
export async function resumeModern(run: ToolRun<ModernCall>, ask: Ask, elicitationId: string): Promise<AskEnd> {
  const { environment, call, requestState } = run;
  const wasAsked = requestState?.phase === 'ask';
  const action = wasAsked ? call.clientAnswer?.action : 'accept';
  if (action === 'accept') {
    const elicitation = await hold(run, ask, elicitationId);
    if (isTerminal(elicitation)) return { elicitation };
    assertInTime(run, ask);
    throw await furtherRound(run, ask, elicitation, 'wait');
  }

  // The stored status takes precedence over the MCP client's answer: some clients answer without asking the user.
  const elicitation = await environment.client.read(elicitationId, 0, ask.signal);
  if (isTerminal(elicitation)) return { elicitation };
  if (action !== undefined) return { refused: action, elicitation };
  assertInTime(run, ask);
  throw await presentModern(run, ask, elicitation);
}

async function furtherRound(
  run: ToolRun<ModernCall>,
  ask: Ask,
  elicitation: ElicitationBody,
  phase: RequestState['phase'],
): Promise<Suspension> {
  if (!hasRoundLeft(run)) return plainSuspension(run, ask.spec, elicitation);
  if (phase === 'wait') return await inputRequired(run, ask.key, phase, undefined);
  const { url, message } = urlElicitation(run, ask.spec, elicitation);
  const meta = denialMeta(run, 'available', elicitation);
  return await inputRequired(run, ask.key, phase, { mode: 'url', url, message }, meta);
}

/** Rounds count across all asks of one call, as the MCP client counts them. */
export function hasRoundLeft({ environment, requestState }: ToolRun): boolean {
  return (requestState?.round ?? 0) < environment.maxRounds;
}

/** Ends this round. The sealed state carries the records of the call to the next round. */
export async function inputRequired(
  run: ToolRun<ModernCall>,
  open: string,
  phase: RequestState['phase'],
  request: Extract<ToolAnswer, { type: 'input_required' }>['request'],
  _meta?: { [key: string]: unknown },
): Promise<Suspension> {
  const { issuer, subject } = await run.principal();
  const { log } = run;
  const requestState = await run.environment.codec.seal({
    issuer,
    subject,
    tool: handlerOf(run.call),
    args: run.argsDigest,
    call: log.call,
    asks: [...log.list()],
    open,
    phase,
    round: (run.requestState?.round ?? 0) + 1,
    exp: Math.ceil((lastEnd(log.list()) + STATE_GRACE_MS) / 1000),
  });
  return new Suspension({ type: 'input_required', request, requestState, _meta });
}
