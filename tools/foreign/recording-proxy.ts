import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';

/** What a client and an MCP server said to each other. */
export interface RecordingProxy extends AsyncDisposable {
  readonly url: string;
  /** Revision of the last `tools/call`. */
  readonly revision: () => string | undefined;
  /** Whether the client declared `elicitation.url`, at the start or in its last call. */
  readonly declaresUrl: () => boolean;
  /** Number of `tools/call` so far. */
  readonly calls: () => number;
  /** Responses of the client to requests of the MCP server. */
  readonly responses: () => readonly string[];
}

const capabilitiesSchema = z.looseObject({ elicitation: z.looseObject({ url: z.unknown().optional() }) });
const messageSchema = z.looseObject({
  method: z.string().optional(),
  params: z
    .looseObject({
      capabilities: z.unknown().optional(),
      _meta: z.looseObject({ 'io.modelcontextprotocol/clientCapabilities': z.unknown().optional() }).optional(),
    })
    .optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

/** @param isLegacyOnly answers requests of revision 2026-07-28 as an MCP server does that does not know it */
export async function startRecordingProxy(target: URL, isLegacyOnly: boolean): Promise<RecordingProxy> {
  let revision: string | undefined;
  let declaresUrl = false;
  let calls = 0;
  const responses: string[] = [];

  function record(body: string, version: string | undefined): void {
    const message = messageSchema.safeParse(JSON.parse(body));
    if (!message.success) return;
    const { method, params, result, error } = message.data;
    const declared = params?._meta?.['io.modelcontextprotocol/clientCapabilities'] ?? params?.capabilities;
    if (declared !== undefined)
      declaresUrl = capabilitiesSchema.safeParse(declared).data?.elicitation.url !== undefined;
    if (method === 'tools/call') {
      calls += 1;
      // A client that names no revision in its header names it in the request, or spoke before there was one.
      revision = version ?? revision;
    }
    if (method === undefined && (result !== undefined || error !== undefined))
      responses.push(JSON.stringify(result ?? error));
  }

  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const version = incoming.headers['mcp-protocol-version']?.toString();
    if (isLegacyOnly && version === '2026-07-28') {
      const error = { code: -32000, message: 'Bad Request: Unsupported protocol version: 2026-07-28' };
      outgoing
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
      return;
    }
    if (incoming.method === 'POST') record(String(body), version);
    const forwarded = request(
      {
        host: target.hostname,
        port: target.port,
        path: incoming.url,
        method: incoming.method,
        headers: incoming.headers,
      },
      answer => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        outgoing.flushHeaders();
        answer.pipe(outgoing);
      },
    );
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    forwarded.end(body);
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await listening;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`,
    revision: () => revision,
    declaresUrl: () => declaresUrl,
    calls: () => calls,
    responses: () => responses,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      server.close(() => onClosed());
      await closed;
    },
  };
}
