import { jsonRpcError } from './responses.ts';

/** Reads the JSON body of a POST, or returns the refusal. Never buffers more than `limit` bytes. */
export async function readJsonBody(request: Request, limit: number): Promise<{ readonly json: unknown } | Response> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > limit) return jsonRpcError(413, -32000, 'Request body too large', { connection: 'close' });
    chunks.push(chunk);
  }
  try {
    return { json: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))) };
  } catch {
    return jsonRpcError(400, -32700, 'Parse error');
  }
}

/** Also excludes the content types that a browser sends to another origin without asking (CORS). */
export function hasJsonContentType(request: Request): boolean {
  return /^application\/json *(?:;|$)/i.test(request.headers.get('content-type') ?? '');
}
