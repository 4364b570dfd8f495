import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { VerifiedToken } from './bearer.ts';
import type { RequestInputs } from './sessions.ts';

/** A request of `node:http`, with what middleware adds to it. */
export interface NodeRequest extends IncomingMessage {
  /** The token that earlier middleware has verified, such as `requireBearerAuth` of the SDKs. */
  auth?: VerifiedToken;
  /** The body that a body parser has read. */
  body?: unknown;
  /** The whole path in a mounted router (express). */
  originalUrl?: string;
}

/**
 * For `node:http`, and for frameworks on it. A third argument that is not a function is the parsed body (fastify); express passes
 * `next` there.
 */
export type NodeHandler = (request: NodeRequest, response: ServerResponse, parsedBody?: unknown) => Promise<void>;

export function toNodeHandler(
  fetchHandler: (request: Request, inputs: RequestInputs) => Promise<Response>,
  onError: (error: unknown) => void,
): NodeHandler {
  return async (incoming, outgoing, third) => {
    // The MCP client left: cancels the request, and the body of the response.
    const gone = new AbortController();
    outgoing.once('close', () => gone.abort());
    try {
      const target = targetOf(incoming);
      if (target === undefined) return void outgoing.writeHead(400, { connection: 'close' }).end();
      const parsedBody = third === undefined || typeof third === 'function' ? incoming.body : third;
      const request = toRequest(incoming, target, parsedBody !== undefined, gone.signal);
      if (request === undefined) return void outgoing.writeHead(405).end();
      const { remoteAddress } = incoming.socket;
      const inputs = {
        remoteAddress,
        parsedBody,
        // Other middleware uses the same member for other things.
        ...(typeof incoming.auth?.token === 'string' ? { authInfo: incoming.auth } : {}),
      };
      const response = await fetchHandler(request, inputs);
      // The unread rest of a body would block the next request of this connection.
      if (!incoming.complete) outgoing.setHeader('connection', 'close');
      await write(response, outgoing);
    } catch (error) {
      if (gone.signal.aborted) return;
      onError(error);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
    }
  };
}

/**
 * Returns path and query of the request target, or undefined for a malformed target. A path may begin with `//`, and an absolute target
 * names a host (RFC 9112, section 3.2); neither may choose the host of the URL.
 */
function targetOf({ originalUrl, url = '/' }: NodeRequest): URL | undefined {
  const given = originalUrl ?? url;
  const target = URL.parse(given.startsWith('/') ? `http://localhost${given}` : given);
  if (target === null || !/^https?:$/.test(target.protocol)) return undefined;
  return new URL(`http://localhost${target.pathname}${target.search}`);
}

/** Returns undefined for a method that `fetch` does not allow, such as TRACE. */
function toRequest(incoming: NodeRequest, target: URL, isBodyRead: boolean, signal: AbortSignal): Request | undefined {
  const { method = 'GET' } = incoming;
  if (!/^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/.test(method)) return undefined;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const hasBody = !isBodyRead && method !== 'GET' && method !== 'HEAD';
  // The authority is in the Host header, which is checked there.
  return new Request(target, {
    method,
    headers,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as unknown as ReadableStream, duplex: 'half' } : {}),
  });
}

async function write(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void outgoing.end();
  // The headers of an event stream tell the MCP client that it is open, long before its first event.
  outgoing.flushHeaders();
  await pipeline(Readable.fromWeb(response.body as unknown as NodeReadableStream), outgoing);
}
