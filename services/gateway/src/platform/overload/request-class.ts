/**
 * How much a shed request costs its caller. From the last class to be shed to the first:
 *
 * - `health`: never shed. A busy process is not dead.
 * - `finish`: continues something that a user or MCP server has begun: submits a form, delivers a code, redeems a result, gets a token.
 * - `read`: reads something.
 * - `wait`: reads something and waits for a change. Shed like `read`. Once admitted it needs no work, so it is counted separately.
 * - `new`: begins something.
 */
export type RequestClass = 'health' | 'finish' | 'read' | 'wait' | 'new';

/** Pages that a user reaches in the middle of an elicitation. A provider sends its callback only once. */
const MIDDLE = /^\/(?:callback\/|log(?:in|out)\/|e\/:elicitationId\/)/;
/** Documents that providers and pages depend on; served from memory. */
const DOCUMENTS = /^\/(?:oauth\/|\.well-known\/|assets\/|openapi\.json$)/;

/** @param route the pattern of the route; undefined for an unknown path */
export function requestClassOf(method: string, route: string | undefined): RequestClass {
  if (route === undefined) return 'new';
  if (route === '/livez' || route === '/readyz') return 'health';
  const isRead = method === 'GET' || method === 'HEAD';
  if (route === '/v1/elicitations' && !isRead) return 'new';
  if (route === '/v1/events' && method === 'GET') return 'wait';
  if (!isRead || MIDDLE.test(route) || DOCUMENTS.test(route)) return 'finish';
  return 'read';
}
