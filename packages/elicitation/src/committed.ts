import type { Elicitation, RequestedBy } from './elicitation.ts';
import type { TransitionElicitation } from './ports.ts';
import type { ElicitationRequest } from './requests.ts';

/**
 * The elicitation as a committed move leaves it. What belongs to a status only (trouble, attempt, approval, …) is dropped, what belongs
 * to the elicitation stays. For stores, which decide the times: `now` of the commit, and when it is over from then on.
 */
export function committed(
  { current, next }: Pick<TransitionElicitation, 'current' | 'next'>,
  times: { readonly now: number; readonly expiresAt: number },
): Elicitation {
  const { layout, elicitationId, mcpServerId, identityMode, subject, createdAt } = current;
  const { message, returnUrl, traceparent } = current;
  const requestedBy = claimAfter(current, next);
  const base = {
    layout,
    elicitationId,
    version: current.version + 1,
    mcpServerId,
    identityMode,
    subject,
    request: requestAfter(current, next),
    ...(message === undefined ? {} : { message }),
    ...(requestedBy === undefined ? {} : { requestedBy }),
    ...(returnUrl === undefined ? {} : { returnUrl }),
    ...(traceparent === undefined ? {} : { traceparent }),
    createdAt,
    expiresAt: times.expiresAt,
  };
  switch (next.status) {
    case 'pending':
      return {
        ...{ ...base, status: next.status },
        ...(next.trouble === undefined ? {} : { trouble: next.trouble }),
        ...(next.missing === undefined ? {} : { missing: next.missing }),
      };
    case 'active':
    case 'verifying':
      return { ...base, ...next };
    case 'completed':
    case 'failed':
      return { ...base, ...next, endedAt: times.now };
    default:
      return { ...base, status: next.status, endedAt: times.now };
  }
}

/** A widened ask is that of several tools; the name of the first would stand beside what another one wants. */
export function claimAfter(
  { requestedBy }: Pick<Elicitation, 'requestedBy'>,
  next: Pick<TransitionElicitation['next'], 'status'> & { readonly scopes?: readonly string[] },
): RequestedBy | undefined {
  if (requestedBy === undefined || next.status !== 'pending' || next.scopes === undefined) return requestedBy;
  const { tool: _, ...rest } = requestedBy;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** What is asked only ever changes by `widen`. */
function requestAfter({ request }: Elicitation, next: TransitionElicitation['next']): ElicitationRequest {
  if (next.status !== 'pending' || next.scopes === undefined || request.kind !== 'authorization') return request;
  return { ...request, scopes: next.scopes };
}
