import type { ElicitationBody } from '@postern/api';
import { type Ask, type AskEnd, type AskSpec, assertInTime, timeLeft } from '../ask.ts';
import { firstOf } from '../first-of.ts';
import { isTerminal } from '../gateway-client.ts';
import { hold } from '../hold.ts';
import type { Suspension } from '../suspension.ts';
import type { ClientAction, LegacySessionCall, LegacyStatelessCall, UrlElicitation } from '../tool-call.ts';
import type { ToolRun } from '../tool-run.ts';
import { incapable, plainSuspension, urlElicitation, urlRequiredSuspension } from './plain.ts';

/**
 * Revision 2025-11-25 with a session: −32042, or a pushed `elicitation/create` and −32042 once `holdMs` is over. Both have the gateway's
 * own elicitation id, and both are followed by `notifications/elicitation/complete` (see `CompletionWaiters`).
 */
export async function presentInLegacySession(
  run: ToolRun<LegacySessionCall>,
  ask: Ask,
  elicitation: ElicitationBody,
): Promise<AskEnd> {
  if (!run.call.declaresUrl) throw incapable(run, ask, elicitation);
  if (run.environment.legacy === 'push' || run.call.swallowsErrors) return await push(run, ask, elicitation);
  throw unfinished(run, ask.spec, elicitation);
}

function unfinished(run: ToolRun<LegacySessionCall>, spec: AskSpec, elicitation: ElicitationBody): Suspension {
  return run.call.swallowsErrors
    ? plainSuspension(run, spec, elicitation)
    : urlRequiredSuspension(run, spec, elicitation);
}

type PushResult =
  | { readonly type: 'ended'; readonly elicitation: ElicitationBody | undefined }
  | { readonly type: 'answered'; readonly action: ClientAction }
  | { readonly type: 'undeliverable' };

/** One request per session and elicitation, shared by all parallel calls. */
const pushes = new WeakMap<object, Map<string, Promise<ClientAction>>>();

async function push(run: ToolRun<LegacySessionCall>, ask: Ask, elicitation: ElicitationBody): Promise<AskEnd> {
  const { client, waiters, holdMs, now } = run.environment;
  const { spec, signal } = ask;
  const { elicitationId } = elicitation;
  const watch = waiters.watch(run.call.session, elicitation);
  if (watch === undefined) throw plainSuspension(run, spec, elicitation);

  const promises: Promise<PushResult>[] = [
    watch.ended.then(ended => ({ type: 'ended', elicitation: ended })),
    pushOnce(run.call, urlElicitation(run, spec, elicitation), watch.ended).then(
      action => ({ type: 'answered', action }),
      () => ({ type: 'undeliverable' }),
    ),
  ];
  const pushedAt = now();
  // Some proxies drop the request, and no answer ever arrives. `holdMs` 0 is for clients whose answer is the end of the wait.
  const answerMs = holdMs === 0 ? Number.POSITIVE_INFINITY : holdMs;
  // Undefined after that, and after this call's `answerWithinMs`.
  const result = await firstOf(promises, Math.min(answerMs, timeLeft(run, ask)), signal);
  if (result?.type === 'ended' && result.elicitation !== undefined)
    return { by: 'gateway', elicitation: result.elicitation };
  const hasOpened = result?.type === 'answered' && result.action === 'accept';
  // The stored status takes precedence over the MCP client's answer: some clients answer without asking the user.
  const latest = hasOpened
    ? await hold(run, ask, elicitationId, now() - pushedAt)
    : await client.read(elicitationId, 0, signal);
  if (isTerminal(latest)) return { by: 'gateway', elicitation: latest };
  if (result?.type === 'answered' && result.action !== 'accept') return { by: 'mcp-client', action: result.action };
  assertInTime(run, ask);
  throw unfinished(run, spec, latest);
}

function pushOnce(call: LegacySessionCall, request: UrlElicitation, ended: Promise<unknown>): Promise<ClientAction> {
  const open = pushes.get(call.session) ?? new Map<string, Promise<ClientAction>>();
  pushes.set(call.session, open);
  const existing = open.get(request.elicitationId);
  if (existing !== undefined) return existing;
  // Closes the dialog at the MCP client once the elicitation has ended.
  const over = new AbortController();
  void ended.then(() => over.abort());
  const answer = call.elicitUrl(request, over.signal).finally(() => open.delete(request.elicitationId));
  open.set(request.elicitationId, answer);
  return answer;
}

/**
 * Revision 2025-11-25 without a session: the capabilities were declared in an `initialize` that another instance answered,
 * so they are unknown here, and there is no stream for a completion notice. −32042 is sent only where the operator vouches
 * that every MCP client of this server declares `elicitation.url` and retries without waiting for the notice.
 */
export async function presentStateless(
  run: ToolRun<LegacyStatelessCall>,
  ask: Ask,
  elicitation: ElicitationBody,
): Promise<never> {
  if (run.environment.assumeUrlCapability) throw urlRequiredSuspension(run, ask.spec, elicitation);
  throw incapable(run, ask, elicitation);
}
