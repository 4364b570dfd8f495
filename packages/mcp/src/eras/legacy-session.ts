import type { ElicitationBody } from '@postern/api';
import type { Ask } from '../ask.ts';
import { isTerminal } from '../elicitation-status.ts';
import { hold } from '../hold.ts';
import { type Resolution, type Run, rememberAsk } from '../run.ts';
import type { ClientAction, LegacySessionCall, UrlElicitation } from '../tool-call.ts';
import { incapableSuspension, plainSuspension, urlElicitation, urlRequiredSuspension } from './plain.ts';

/**
 * Revision 2025-11-25 with a session: −32042, or a pushed `elicitation/create`, both with the gateway's own elicitation id
 * and both followed by `notifications/elicitation/complete` (see `CompletionWaiters`).
 */
export async function pursueInLegacySession(
  run: Run<LegacySessionCall>,
  ask: Ask,
  elicitation: ElicitationBody,
  signal: AbortSignal,
): Promise<Resolution> {
  const { legacy, missingCapability } = run.environment;
  if (!run.call.declaresUrl) {
    throw missingCapability === 'error'
      ? incapableSuspension(run, ask, elicitation)
      : await plainSuspension(run, ask, elicitation);
  }
  if (legacy === 'push') return await push(run, ask, elicitation, signal);
  throw await urlRequiredSuspension(run, ask, elicitation);
}

type PushResult =
  | { readonly type: 'ended'; readonly elicitation: ElicitationBody | undefined }
  | { readonly type: 'answered'; readonly action: ClientAction }
  | { readonly type: 'undeliverable' };

/** One question per session and elicitation, however many parallel calls wait for its answer. */
const pushes = new WeakMap<object, Map<string, Promise<ClientAction>>>();

async function push(
  run: Run<LegacySessionCall>,
  ask: Ask,
  elicitation: ElicitationBody,
  signal: AbortSignal,
): Promise<Resolution> {
  const { client, waiters } = run.environment;
  const { elicitationId } = elicitation;
  const watch = waiters.watch(run.call.session, elicitation);
  if (watch === undefined) throw await plainSuspension(run, ask, elicitation);

  // An MCP client that gives up while its user is busy learns the end from its next call.
  await rememberAsk(run, ask, elicitation);
  const result = await withAbort(signal, [
    watch.ended.then((ended): PushResult => ({ type: 'ended', elicitation: ended })),
    pushOnce(run.call, urlElicitation(run, ask, elicitation), watch.ended).then(
      (action): PushResult => ({ type: 'answered', action }),
      (): PushResult => ({ type: 'undeliverable' }),
    ),
  ]);
  if (result.type === 'ended' && result.elicitation !== undefined)
    return { by: 'gateway', elicitation: result.elicitation };
  if (result.type === 'answered' && result.action === 'accept') {
    const latest = await hold(run, elicitationId, ask, signal);
    if (isTerminal(latest)) return { by: 'gateway', elicitation: latest };
    throw await plainSuspension(run, ask, latest);
  }
  // The stored status comes before anything an MCP client says: some answer for the user without asking.
  const latest = await client.read(elicitationId, 0, signal);
  if (isTerminal(latest)) return { by: 'gateway', elicitation: latest };
  if (result.type === 'answered' && result.action !== 'accept') return { by: 'mcp-client', action: result.action };
  throw await plainSuspension(run, ask, latest);
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

async function withAbort<T>(signal: AbortSignal, promises: readonly Promise<T>[]): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([...promises, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
