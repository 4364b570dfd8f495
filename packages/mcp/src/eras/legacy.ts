import type { ElicitationBody } from '@postern/api';
import { isTerminal } from '../gateway/client.ts';
import { firstOf } from '../gateway/waiting-reads.ts';
import {
  type Ask,
  type AskEnd,
  type AskSpec,
  assertInTime,
  hold,
  type ToolRun,
  timeLeft,
  urlElicitation,
} from '../run/run.ts';
import type {
  ClientAction,
  LegacySessionCall,
  LegacyStatelessCall,
  Suspension,
  UrlElicitation,
} from '../run/tool-call.ts';
import { incapable, plainSuspension, urlRequiredSuspension } from './plain.ts';

/**
 * How long an MCP client may leave a pushed request unanswered, in milliseconds. A person reads the question and agrees to open the page
 * within it. Some proxies drop requests to the client and no answer ever arrives: then −32042 must reach the client before it gives up on
 * the call, after 60 seconds or less.
 */
const PUSH_SILENCE_MS = 20_000;

/**
 * Revision 2025-11-25 with a session: a pushed `elicitation/create`, and −32042 where that led to nothing: after the client's cancel, an
 * error, its silence, or once `holdMs` is over. Both have the gateway's own elicitation id, and both are followed by
 * `notifications/elicitation/complete` (see `CompletionWaiters`). The client's decline is final.
 */
export async function presentInLegacySession(
  run: ToolRun<LegacySessionCall>,
  ask: Ask,
  elicitation: ElicitationBody,
): Promise<AskEnd> {
  if (!run.call.declaresUrl) throw incapable(run, ask, elicitation);
  // The answer to a push may arrive at a replica that does not wait for it.
  if (run.environment.sessionReplica !== undefined) throw unfinished(run, ask.spec, elicitation);
  return await push(run, ask, elicitation);
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

interface OpenPush {
  readonly answer: Promise<ClientAction>;
  readonly pushedAt: number;
}

/** One request per session and elicitation, shared by all its calls while it is unanswered. */
const pushes = new WeakMap<object, Map<string, OpenPush>>();

async function push(run: ToolRun<LegacySessionCall>, ask: Ask, elicitation: ElicitationBody): Promise<AskEnd> {
  const { client, completionNotices, holdMs, now } = run.environment;
  const { spec, signal } = ask;
  const { elicitationId } = elicitation;
  const watch = completionNotices.watch(run.call.session, elicitation);
  if (watch === undefined) throw plainSuspension(run, spec, elicitation);

  const { answer, pushedAt } = pushOnce(run, urlElicitation(run, spec, elicitation), watch.ended);
  const promises: Promise<PushResult>[] = [
    watch.ended.then(ended => ({ type: 'ended', elicitation: ended })),
    answer.then(
      action => ({ type: 'answered', action }),
      () => ({ type: 'undeliverable' }),
    ),
  ];
  const startedAt = now();
  // A repeated call waits for what is left of the silence.
  const silenceMs = Math.max(0, pushedAt + PUSH_SILENCE_MS - startedAt);
  // With `holdMs` 0, the client's answer is the end of the wait.
  const answerMs = Math.min(silenceMs, holdMs === 0 ? silenceMs : holdMs, timeLeft(run, ask));
  const result = await firstOf(promises, answerMs, signal);
  if (result?.type === 'ended' && result.elicitation !== undefined) return { elicitation: result.elicitation };
  const hasOpened = result?.type === 'answered' && result.action === 'accept';
  // The stored status takes precedence over the MCP client's answer: some clients answer without asking the user.
  const latest = hasOpened
    ? await hold(run, ask, elicitationId, now() - startedAt)
    : await client.read(elicitationId, 0, signal);
  if (isTerminal(latest)) return { elicitation: latest };
  if (result?.type === 'answered' && result.action === 'decline') return { refused: 'decline', elicitation: latest };
  assertInTime(run, ask);
  throw unfinished(run, spec, latest);
}

function pushOnce(
  { call, environment }: ToolRun<LegacySessionCall>,
  request: UrlElicitation,
  ended: Promise<unknown>,
): OpenPush {
  const open = pushes.get(call.session) ?? new Map<string, OpenPush>();
  pushes.set(call.session, open);
  const existing = open.get(request.elicitationId);
  if (existing !== undefined) return existing;
  // Closes the dialog at the MCP client once the elicitation has ended.
  const over = new AbortController();
  void ended.then(() => over.abort());
  const answer = call.elicitUrl(request, over.signal).finally(() => open.delete(request.elicitationId));
  const opened = { answer, pushedAt: environment.now() };
  open.set(request.elicitationId, opened);
  return opened;
}

/**
 * Revision 2025-11-25 without a session: the capabilities were declared in an `initialize` that another instance answered,
 * so they are unknown here, and there is no stream for a completion notice. −32042 is sent only where the operator vouches
 * that every MCP client of this server declares `elicitation.url` and retries without waiting for the notice.
 */
export function presentStateless(run: ToolRun<LegacyStatelessCall>, ask: Ask, elicitation: ElicitationBody): Error {
  return run.environment.assumeUrlCapability
    ? urlRequiredSuspension(run, ask.spec, elicitation)
    : incapable(run, ask, elicitation);
}
