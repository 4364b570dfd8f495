import type { OutboundFetch } from '@postern/authorization';

/** Replaces what `fetch` does when it is called, and keeps its other members. */
export function wrapFetch(
  { isInside, close }: OutboundFetch,
  send: (...request: Parameters<OutboundFetch>) => Promise<Response>,
): OutboundFetch {
  return Object.assign(send, { isInside, close, [Symbol.asyncDispose]: close });
}
