import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestPlace } from './overload/request-place.ts';

/** The request that is being answered, for whatever is written down meanwhile. */
export interface RequestContext {
  readonly requestId: string;
  /** Address of the client, behind the proxies that `trustProxy` names. */
  readonly source: string;
  /** An outbound request failed in a way that only an operator can mend. */
  needsOperator?: boolean;
  /** Its place among the requests under way, from when it was let in. */
  place?: RequestPlace;
}

const contexts = new AsyncLocalStorage<RequestContext>();

/** Undefined in background work. */
export const requestContext = (): RequestContext | undefined => contexts.getStore();

export const withinRequest = (context: RequestContext, work: () => void): void => contexts.run(context, work);

/** What log and audit lines say of the request. */
export function requestFields(): { readonly requestId?: string; readonly source?: string } {
  const context = contexts.getStore();
  return context === undefined ? {} : { requestId: context.requestId, source: context.source };
}
