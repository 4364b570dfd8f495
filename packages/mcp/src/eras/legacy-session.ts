import type { ElicitationBody } from '@postern/api';
import { isTerminal } from '../elicitation-status.ts';
import { hold } from '../hold.ts';
import { assertInTime, type Inquiry, type Resolution, type Run, timeLeft } from '../run.ts';
import type { ClientAction, LegacySessionCall, UrlElicitation } from '../tool-call.ts';
import { incapable, plainSuspension, urlElicitation, urlRequiredSuspension } from './plain.ts';

/**
 * Revision 2025-11-25 with a session: −32042, or a pushed `elicitation/create`, both with the gateway's own elicitation id
 * and both followed by `notifications/elicitation/complete` (see `CompletionWaiters`).
 */
export async function pursueInLegacySession(
  run: Run<LegacySessionCall>,
  inquiry: Inquiry,
  elicitation: ElicitationBody,
): Promise<Resolution> {
  if (!run.call.declaresUrl) throw incapable(run, inquiry.ask, elicitation);
  if (run.environment.legacy === 'push') return await push(run, inquiry, elicitation);
  throw urlRequiredSuspension(run, inquiry.ask, elicitation);
}

type PushResult =
  | { readonly type: 'ended'; readonly elicitation: ElicitationBody | undefined }
  | { readonly type: 'answered'; readonly action: ClientAction }
  | { readonly type: 'undeliverable' }
  | { readonly type: 'overdue' };

/** More than a timer of Node counts; an elicitation has expired by then. */
const MAX_TIMER_MS = 2_147_483_647;

/** One question per session and elicitation, however many parallel calls wait for its answer. */
const pushes = new WeakMap<object, Map<string, Promise<ClientAction>>>();

async function push(run: Run<LegacySessionCall>, inquiry: Inquiry, elicitation: ElicitationBody): Promise<Resolution> {
  const { client, waiters } = run.environment;
  const { ask, signal } = inquiry;
  const { elicitationId } = elicitation;
  const watch = waiters.watch(run.call.session, elicitation);
  if (watch === undefined) throw plainSuspension(run, ask, elicitation);

  const result = await withAbort(signal, await timeLeft(run, inquiry), [
    watch.ended.then((ended): PushResult => ({ type: 'ended', elicitation: ended })),
    pushOnce(run.call, urlElicitation(run, ask, elicitation), watch.ended).then(
      (action): PushResult => ({ type: 'answered', action }),
      (): PushResult => ({ type: 'undeliverable' }),
    ),
  ]);
  if (result.type === 'ended' && result.elicitation !== undefined)
    return { by: 'gateway', elicitation: result.elicitation };
  const hasOpened = result.type === 'answered' && result.action === 'accept';
  // The stored status comes before anything an MCP client says: some answer for the user without asking.
  const latest = hasOpened ? await hold(run, inquiry, elicitationId) : await client.read(elicitationId, 0, signal);
  if (isTerminal(latest)) return { by: 'gateway', elicitation: latest };
  if (result.type === 'answered' && result.action !== 'accept') return { by: 'mcp-client', action: result.action };
  await assertInTime(run, inquiry);
  throw plainSuspension(run, ask, latest);
}

function pushOnce(call: LegacySessionCall, request: UrlElicitation, ended: Promise<unknown>): Promise<ClientAction> {
  const open = pushes.get(call.session) ?? new Map<string, Promise<ClientAction>>();
  pushes.set(call.session, open);
  const existing = open.get(request.elicitationId);
  if (existing !== undefined) return existing;
  // Once the gateway knows the end, the dialog at the MCP client has no purpose any more.
  const over = new AbortController();
  void ended.then(() => over.abort());
  const answer = call.elicitUrl(request, over.signal).finally(() => open.delete(request.elicitationId));
  open.set(request.elicitationId, answer);
  return answer;
}

/** The first of the promises, of the abort, and of the question's own time. */
async function withAbort(
  signal: AbortSignal,
  timeLeftMs: number,
  promises: readonly Promise<PushResult>[],
): Promise<PushResult> {
  const { promise, resolve, reject } = Promise.withResolvers<PushResult>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  const timer = timeLeftMs <= MAX_TIMER_MS ? setTimeout(() => resolve({ type: 'overdue' }), timeLeftMs) : undefined;
  try {
    return await Promise.race([...promises, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
