import type { OutboundFetch } from '@postern/authorization';

/** `send` in the place of a fetch that it calls. What else that one can do stays as it is. */
export function aroundFetch(
  { isInside, close }: OutboundFetch,
  send: (...request: Parameters<OutboundFetch>) => Promise<Response>,
): OutboundFetch {
  return Object.assign(send, { isInside, close, [Symbol.asyncDispose]: close });
}
