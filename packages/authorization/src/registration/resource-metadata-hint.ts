import { OutboundError } from '../outbound-error.ts';
import type { OutboundFetch } from '../outbound-fetch.ts';

/**
 * Where a remote MCP server says its metadata is: `resource_metadata` of the `WWW-Authenticate` challenge (RFC 9728
 * section 5.1) with which it answers a request without a token. The request is a JSON-RPC ping, which has no effect where
 * it is answered.
 *
 * Only a place on the server's own origin counts, where the well-known places are too. An answer that is no 401 is no hint,
 * and neither is one that redirects, never ends or does not come: whether the server can be reached at all is decided by
 * the requests for the document.
 */
export async function resourceMetadataHint(resource: string, fetch: OutboundFetch): Promise<string | undefined> {
  let response: Response;
  try {
    response = await fetch(resource, {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
  } catch (error) {
    if (error instanceof OutboundError) return undefined;
    throw error;
  }
  const challenge = response.status === 401 ? response.headers.get('www-authenticate') : null;
  const url = URL.parse(challenge === null ? '' : (resourceMetadataOf(challenge) ?? ''));
  if (url === null || url.origin !== new URL(resource).origin || url.username !== '' || url.password !== '') {
    return undefined;
  }
  return url.href;
}

/**
 * An authentication parameter (RFC 9110 section 11.2). A quoted value is read as a whole, so text inside it is no parameter. A
 * match begins only where a name begins: anywhere else, a long name without a value would take quadratic time.
 */
const parameter = /(?<![\w!#$%&'*+.^`|~-])([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

function resourceMetadataOf(challenge: string): string | undefined {
  for (const [, name = '', quoted, token] of challenge.matchAll(parameter)) {
    if (name.toLowerCase() === 'resource_metadata') return quoted?.replaceAll(/\\(.)/g, '$1') ?? token;
  }
  return undefined;
}
