import type { OutboundFetch, OutboundRequest } from '../outbound/outbound-fetch.ts';

/** For tests: a fetch without a network. Returns the same response for every request, and records the requests. */
export function recorder(
  status: number,
  body?: object,
): {
  readonly asked: (OutboundRequest & { readonly url: string })[];
  readonly fetch: OutboundFetch;
} {
  const asked: (OutboundRequest & { url: string })[] = [];
  const answer = async (url: string | URL, init: OutboundRequest = {}) => {
    asked.push({ ...init, url: String(url) });
    return body === undefined ? new Response(null, { status }) : Response.json(body, { status });
  };
  return { asked, fetch: withoutNetwork(answer) };
}

/** For tests: wraps a function that returns responses as an outbound fetch. */
export function withoutNetwork(
  answer: (...p: Parameters<OutboundFetch>) => Promise<Response>,
  isInside: OutboundFetch['isInside'] = () => false,
): OutboundFetch {
  const close = async () => {};
  return Object.assign(answer, { isInside, close, [Symbol.asyncDispose]: close });
}
