/**
 * How much it costs somebody when a request is turned away. From the last to be turned away to the first:
 *
 * - `health`: never. A process that is busy is not dead.
 * - `finish`: what carries on what people or MCP servers have begun: sends a form, brings a code back, takes a result or a token.
 * - `read`: looking at something.
 * - `wait`: looking at something until it changes. Turned away like `read`; once in, it is no work, and is counted apart.
 * - `new`: asks for something that nobody has done anything for yet.
 */
export type RequestClass = 'health' | 'finish' | 'read' | 'wait' | 'new';

/** Pages that somebody opens in the middle of something; the answer of a provider is there once. */
const MIDDLE = /^\/(?:callback\/|login\/|e\/:elicitationId\/)/;
/** Documents without which providers and pages cannot go on; served from memory. */
const DOCUMENTS = /^\/(?:oauth\/|\.well-known\/|assets\/|openapi\.json$)/;

/** @param route the pattern of the route; undefined where there is none */
export function requestClassOf(method: string, route: string | undefined): RequestClass {
  if (route === undefined) return 'new';
  if (route === '/livez' || route === '/readyz') return 'health';
  const isRead = method === 'GET' || method === 'HEAD';
  if (route === '/v1/elicitations' && !isRead) return 'new';
  if (route === '/v1/events') return 'wait';
  if (!isRead || MIDDLE.test(route) || DOCUMENTS.test(route)) return 'finish';
  return 'read';
}
