import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { z } from 'zod/v4';
import { asError, invalidOptions, parseStrictly, SubjectUnavailableError } from '../errors.ts';
import type { Reporter } from '../mistakes.ts';
import { resolvePrincipal, type SubjectOption } from '../run/tool-call.ts';
import {
  Admission,
  type AdmissionGate,
  type AdmissionOptions,
  admissionShape,
  jsonRpcError,
  type RequestInputs,
} from './admission.ts';
import type { VerifiedToken } from './bearer.ts';
import { McpSessions, type SessionTransport } from './sessions.ts';

export interface EndpointOptions extends AdmissionOptions {
  /** Maximum size of a request body that the endpoint reads itself, in bytes. Default 4 MiB. */
  readonly maxBodyBytes?: number;
  /**
   * Maximum number of open 2025-11-25 sessions. At the limit, the longest unused session ends; if all are in use, the response is 503.
   * Default 1,000.
   */
  readonly maxSessions?: number;
  /** Maximum number per user; the user's least recently used session ends for the next one. Default 100. */
  readonly maxSessionsPerUser?: number;
  /** Milliseconds after which a session without an open request or stream ends. Default 30 minutes. */
  readonly sessionIdleMs?: number;
}

/** The connection that a new `McpServer` serves: a session (`legacy`, 2025-11-25) or one request (`modern`, 2026-07-28). */
export interface Connection {
  readonly era: 'legacy' | 'modern';
  /** Undefined on a loopback endpoint without tokens. */
  readonly authInfo: VerifiedToken | undefined;
}

export type CreateServer<McpServer> = (connection: Connection) => McpServer | Promise<McpServer>;

/**
 * One MCP endpoint for both protocol eras. Answers every path, and the metadata of `auth` at its well-known path.
 *
 * A 2025-11-25 session belongs to the user who opened it: others get the response for an unknown session. Its stream ends with the token
 * that opened it, and after an hour. A completion notice that is due without a stream is sent when the stream reopens.
 */
export interface McpEndpoint {
  /** For `node:http`, express and fastify. Never rejects. */
  readonly node: NodeHandler;
  /** For frameworks with web-standard requests, such as hono. `authInfo` is a token that earlier middleware has verified. */
  readonly fetch: (request: Request, inputs?: RequestInputs) => Promise<Response>;
  /** Ends all sessions and requests. */
  readonly close: () => Promise<void>;
}

/** What differs between the SDKs. */
export interface HttpSdk<McpServer> {
  /** Throws for a server of another copy of the SDK, which would answer −32042 as text. */
  checkServer(server: McpServer): void;
  /** Connects a new server to a transport with this session id. */
  connect(server: McpServer, sessionId: string): Promise<SessionTransport>;
  /** Revision 2026-07-28, which SDK v1 does not speak. */
  modern?(create: CreateServer<McpServer>, onError: (error: Error) => void): ModernHandler;
}

/** Requests of revision 2026-07-28. */
interface ModernHandler {
  isLegacy(request: Request, parsedBody: unknown): Promise<boolean>;
  answer(request: Request, inputs: RequestInputs): Promise<Response>;
  close(): Promise<void>;
}

const optionsSchema = z.strictObject({
  ...admissionShape,
  maxBodyBytes: z
    .int()
    .min(1)
    .default(4 * 1024 * 1024),
  maxSessions: z.int().min(1).default(1_000),
  maxSessionsPerUser: z.int().min(1).default(100),
  sessionIdleMs: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .default(30 * 60_000),
});

/** What an endpoint gets from its gate. */
export interface EndpointGate<McpServer, Context> extends AdmissionGate<Context> {
  readonly sdk: HttpSdk<McpServer>;
  /** Receives the MCP server of each open session, by session id. */
  readonly servers: Map<string, McpServer>;
}

export class Endpoint<McpServer extends { isConnected(): boolean }, Context> implements McpEndpoint {
  readonly node: NodeHandler;
  readonly #gate: EndpointGate<McpServer, Context>;
  readonly #create: CreateServer<McpServer>;
  readonly #options: z.infer<typeof optionsSchema>;
  readonly #admission: Admission<Context>;
  readonly #modern: ModernHandler | undefined;
  readonly #sessions: McpSessions;
  #isClosed = false;

  /** @throws {PosternUsageError} `invalid_options` */
  constructor(gate: EndpointGate<McpServer, Context>, create: CreateServer<McpServer>, options: EndpointOptions = {}) {
    this.#options = parseStrictly('invalid_options', 'gate.endpoint', optionsSchema, options);
    if (typeof create !== 'function')
      throw invalidOptions('gate.endpoint: needs a function that creates an McpServer.');
    this.#gate = gate;
    this.#create = create;
    const { sdk, servers, reporter } = gate;
    this.#admission = new Admission(gate, options);
    const onError = (error: unknown) => {
      reporter.reportMistake(error, 'gate.endpoint');
      reporter.onBackgroundError(asError(error));
    };
    this.#modern = sdk.modern?.(
      connection => this.#createServer(connection),
      error => reporter.reportMistake(error, 'gate.endpoint'),
    );
    this.#sessions = new McpSessions(this.#options, { onEnd: sessionId => servers.delete(sessionId), onError });
    this.node = toNodeHandler((request, inputs) => this.#handle(request, inputs), onError);
  }

  readonly fetch = (request: Request, inputs: RequestInputs = {}): Promise<Response> => this.#handle(request, inputs);

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await Promise.all([this.#sessions.close(), this.#modern?.close()]);
  };

  async #handle(request: Request, inputs: RequestInputs): Promise<Response> {
    if (this.#isClosed) return jsonRpcError(503, -32000, 'Closed');
    return await this.#admission.admit(request, inputs, authInfo => this.#answer(request, inputs, authInfo));
  }

  async #answer(request: Request, inputs: RequestInputs, authInfo: VerifiedToken | undefined): Promise<Response> {
    const isPost = request.method === 'POST';
    if (!isPost && request.method !== 'GET' && request.method !== 'DELETE') {
      return jsonRpcError(405, -32000, 'Method not allowed', { allow: 'GET, POST, DELETE' });
    }
    const body = isPost ? await this.#bodyOf(request, inputs) : undefined;
    if (body instanceof Response) return body;
    const admittedInputs = {
      ...(body === undefined ? {} : { parsedBody: body.json }),
      ...(authInfo === undefined ? {} : { authInfo }),
    };
    const modern = this.#modern;
    const isModern = body !== undefined && modern !== undefined && !(await modern.isLegacy(request, body.json));
    return isModern ? await modern.answer(request, admittedInputs) : await this.#answerLegacy(request, admittedInputs);
  }

  async #bodyOf(request: Request, { parsedBody }: RequestInputs): Promise<{ json: unknown } | Response> {
    if (!hasJsonContentType(request)) return jsonRpcError(415, -32000, 'Content-Type must be application/json');
    return parsedBody === undefined ? await readJsonBody(request, this.#options.maxBodyBytes) : { json: parsedBody };
  }

  async #answerLegacy(request: Request, inputs: RequestInputs): Promise<Response> {
    const { sdk, servers, subject } = this.#gate;
    const owner = await sessionOwner(subject, inputs.authInfo, request);
    const sessionId = request.headers.get('mcp-session-id');
    if (sessionId !== null) return await this.#sessions.handle(sessionId, owner, request, inputs);
    if (!isInitialize(inputs.parsedBody)) return jsonRpcError(400, -32000, 'Mcp-Session-Id header is required');
    const connect = async (id: string) => {
      const server = await this.#createServer({ era: 'legacy', authInfo: inputs.authInfo });
      servers.set(id, server);
      return await sdk.connect(server, id);
    };
    return await this.#sessions.open(owner, connect, request, inputs);
  }

  #createServer(connection: Connection): Promise<McpServer> {
    const { sdk, reporter } = this.#gate;
    return created(reporter, 'gate.endpoint', async () => {
      const server = await this.#create(connection);
      sdk.checkServer(server);
      if (server.isConnected()) throw invalidOptions('the McpServer serves another connection; return a new one.');
      return server;
    });
  }
}

/** A batch cannot open a session (2025-03-26 and later). */
function isInitialize(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'method' in body && body.method === 'initialize';
}

/** Reads the JSON body of a POST, or returns the refusal. Never buffers more than `limit` bytes. */
async function readJsonBody(request: Request, limit: number): Promise<{ readonly json: unknown } | Response> {
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
function hasJsonContentType(request: Request): boolean {
  return /^application\/json *(?:;|$)/i.test(request.headers.get('content-type') ?? '');
}

/**
 * The user of a session, whom the option `subject` names. If it names none, the owner is the token itself, so that the session ends
 * with the token. Loopback endpoints without tokens have one user.
 */
async function sessionOwner<Context>(
  subject: SubjectOption<Context> | undefined,
  authInfo: VerifiedToken | undefined,
  request: Request,
): Promise<string> {
  if (authInfo === undefined && typeof subject !== 'function') return 'loopback';
  const { headers, url } = request;
  // The part of both SDKs' contexts that is known before the SDK reads the request.
  const context = {
    authInfo,
    http: { authInfo, req: request },
    requestInfo: { headers: Object.fromEntries(headers), url: new URL(url) },
  };
  try {
    const { issuer, subject: user } = await resolvePrincipal(subject, { authInfo }, context as Context);
    return JSON.stringify([issuer, user]);
  } catch (error) {
    // A function that needs the rest of the context fails with an error of any kind.
    if (!(error instanceof SubjectUnavailableError) && typeof subject !== 'function') throw error;
    return authInfo === undefined ? 'loopback' : createHash('sha256').update(authInfo.token).digest('base64url');
  }
}

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

/** Serves `node:http` with a handler of web-standard requests. */
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

/**
 * Runs the function of the author that creates a server, and reports what it throws, whatever that is: the SDKs answer 500 without a
 * trace.
 */
export async function created<McpServer>(
  { reportMistake }: Reporter,
  where: string,
  create: () => Promise<McpServer>,
): Promise<McpServer> {
  try {
    return await create();
  } catch (error) {
    reportMistake(error, `${where}: the function that creates the McpServer`, () => true);
    throw error;
  }
}
