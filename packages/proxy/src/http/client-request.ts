import { type JsonNode, objectsIn, stringOf } from '@postern/api/json';
import type { VerifiedToken } from '@postern/mcp/adapter';
import { errorText, LOCAL_OWNER } from '../call.ts';
import { type Message, RpcError, whole } from '../message.ts';

/** HTTP does not match header and body (SEP-2243). */
const HEADER_MISMATCH = -32020;

/** One person. Tokens of one person may differ. */
export function ownerOf(authInfo: VerifiedToken | undefined): string {
  if (authInfo === undefined) return LOCAL_OWNER;
  const { iss, sub } = authInfo.extra ?? {};
  if (typeof iss !== 'string' || typeof sub !== 'string') throw new TypeError('a token that names a person');
  return JSON.stringify([iss, sub]);
}

/** The body of a POST, or the refusal. */
export async function readPost(request: Request, maxBytes: number): Promise<Buffer | Response> {
  // Also excludes what a browser sends to another origin without asking (CORS).
  if (!/^application\/json *(?:;|$)/i.test(request.headers.get('content-type') ?? ''))
    return rpcResponse(415, new RpcError(-32600, 'Content-Type must be application/json'));
  try {
    return await whole(chunksOf(request), maxBytes);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return rpcResponse(413, new RpcError(-32600, 'Request body too large'), { headers: { connection: 'close' } });
  }
}

/** How long a stream may last that belongs to no call, in ms. */
const STREAM_MS = 60 * 60_000;

/** Ends a stream that belongs to no call: with its MCP client, with the access token, and after an hour. */
export function streamEnd({ signal }: Request, authInfo: VerifiedToken | undefined): AbortSignal {
  const left = (authInfo?.expiresAt ?? Number.POSITIVE_INFINITY) * 1000 - Date.now();
  return AbortSignal.any([signal, AbortSignal.timeout(Math.floor(Math.max(0, Math.min(STREAM_MS, left))))]);
}

/** Whether the MCP client takes a stream of events. */
export const acceptsEvents = ({ headers }: Request): boolean =>
  /\btext\/event-stream\b/i.test(headers.get('accept') ?? '');

async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  if (request.body !== null) yield* request.body;
}

/**
 * Revision 2026-07-28 repeats parts of a message in headers. A server or a balancer may act by these, so they say what the body says.
 *
 * @throws {RpcError}
 */
export function refuseOtherHeaders(headers: Headers, { method, params }: Message): void {
  const said = headers.get('mcp-method');
  const name = decoded(headers.get('mcp-name'));
  const isOther = said !== null && method !== undefined && said !== method;
  if (isOther || (method === 'tools/call' && name !== undefined && name !== stringOf(params, 'name')))
    throw new RpcError(HEADER_MISMATCH, 'Mcp-Method or Mcp-Name differs from the body');
}

/** The same for headers with arguments: each has a value that stands in them. @throws {RpcError} */
export function refuseOtherParameters(headers: Headers, args: JsonNode | undefined): void {
  const values = [...headers].filter(([name]) => name.startsWith('mcp-param-')).map(([, value]) => decoded(value));
  if (values.length === 0) return;
  const known = new Set(
    args === undefined
      ? []
      : [...objectsIn(args)].flatMap(({ members }) =>
          members.flatMap(({ value }) =>
            'text' in value ? [value.type === 'number' ? String(Number(value.text)) : value.text] : [],
          ),
        ),
  );
  const isKnown = (value: string) => known.has(value) || known.has(String(Number(value)));
  if (!values.every(value => value !== undefined && isKnown(value)))
    throw new RpcError(HEADER_MISMATCH, 'an Mcp-Param header differs from the arguments');
}

/** Undefined for none, and for what cannot be decoded. */
function decoded(value: string | null): string | undefined {
  if (value === null) return undefined;
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

interface RpcResponseOptions {
  /** Of the JSON-RPC request, as JSON text, if it is known. */
  readonly id?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that concerns the HTTP request. */
export function rpcResponse(
  status: number,
  error: RpcError,
  { id = 'null', headers }: RpcResponseOptions = {},
): Response {
  return new Response(errorText(id, error), { status, headers: { 'content-type': 'application/json', ...headers } });
}

/** A session of another person and an unknown one get the same answer. It makes the MCP client open a new session. */
export const unknownSession = (): Response => rpcResponse(404, new RpcError(-32001, 'Session not found'));

export const notAllowed = (): Response => new Response(null, { status: 405, headers: { allow: 'GET, POST, DELETE' } });
