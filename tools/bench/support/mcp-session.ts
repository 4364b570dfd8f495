import { z } from 'zod';
import { HttpConnection, headerOf, httpRequest } from '../../../test/support/http-connection.ts';

const requiredSchema = z.object({
  error: z.object({
    code: z.literal(-32042),
    data: z.object({ elicitations: z.tuple([z.object({ elicitationId: z.string(), url: z.url() })]) }),
  }),
});
const pushSchema = z.object({
  id: z.union([z.string(), z.number()]),
  method: z.literal('elicitation/create'),
  params: z.object({ elicitationId: z.string(), url: z.url() }),
});
const noticeSchema = z.object({
  method: z.literal('notifications/elicitation/complete'),
  params: z.object({ elicitationId: z.string() }),
});

export interface Elicited {
  readonly elicitationId: string;
  readonly url: string;
}

/**
 * A wire-level MCP client of revision 2025-11-25: one connection for its calls, one for its answers to pushed requests, one for the
 * session's stream.
 */
export class McpSession implements Disposable {
  readonly #port: number;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #calls: HttpConnection;
  readonly #answers: HttpConnection;
  readonly #stream: HttpConnection;
  readonly #completions = new Map<string, () => void>();
  #ids = 0;
  #pending = '';
  /** The end of the last call. */
  #ended: Promise<unknown> = Promise.resolve();

  private constructor(
    port: number,
    headers: Readonly<Record<string, string>>,
    connections: { calls: HttpConnection; answers: HttpConnection; stream: HttpConnection },
  ) {
    this.#port = port;
    this.#headers = headers;
    this.#calls = connections.calls;
    this.#answers = connections.answers;
    this.#stream = connections.stream;
  }

  static async open(port: number, bearer: string): Promise<McpSession> {
    const headers = {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const calls = await HttpConnection.open(port);
    const answers = await HttpConnection.open(port);
    const stream = await HttpConnection.open(port);
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: { form: {}, url: {} } },
      clientInfo: { name: 'Example Host', version: '1.0.0' },
    };
    const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    const answer = await calls.request(httpRequest('POST', '/mcp', port, headers, JSON.stringify(initialize)));
    const sessionId = headerOf(answer, 'mcp-session-id');
    if (answer.status !== 200 || sessionId === undefined) throw new Error(`initialize was answered: ${answer.body}`);
    const session = new McpSession(
      port,
      { ...headers, 'mcp-session-id': sessionId, 'mcp-protocol-version': '2025-11-25' },
      { calls, answers, stream },
    );
    await session.#begin();
    return session;
  }

  /**
   * Calls a tool that asks for a URL-mode elicitation: by −32042, or by a pushed request, to which the user agrees at once.
   * @throws ZodError for any other result
   */
  async call(name: string, cartId: string): Promise<Elicited> {
    this.#ids += 1;
    const params = { name, arguments: { cartId } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#ids, method: 'tools/call', params });
    const pushed = Promise.withResolvers<Elicited>();
    let answered: Promise<void> | undefined;
    const request = httpRequest('POST', '/mcp', this.#port, this.#headers, body);
    const ended = this.#calls.request(request, received => {
      const data = /\ndata: (\{"method":"elicitation\/create".+)\n/.exec(received)?.[1];
      if (data === undefined || answered !== undefined) return;
      const { id, params: elicited } = pushSchema.parse(JSON.parse(data));
      answered = this.#agree(id);
      pushed.resolve(elicited);
    });
    this.#ended = ended.then(() => answered);
    const required = ended.then(answer => {
      const data = /^data: (.+)$/m.exec(answer.body)?.[1] ?? answer.body;
      return answered ? pushed.promise : requiredSchema.parse(JSON.parse(data)).error.data.elicitations[0];
    });
    return Promise.race([pushed.promise, required]);
  }

  /** The completion notice, and the end of the call. Must be called before the page is posted. */
  async completion(elicitationId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#completions.set(elicitationId, resolve);
    await Promise.all([promise, this.#ended]);
  }

  async #agree(id: string | number): Promise<void> {
    const agreed = JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'accept' } });
    const { status } = await this.#answers.request(httpRequest('POST', '/mcp', this.#port, this.#headers, agreed));
    if (status !== 202) throw new Error(`the answer to a pushed request was answered with ${status}`);
  }

  [Symbol.dispose](): void {
    this.#calls[Symbol.dispose]();
    this.#answers[Symbol.dispose]();
    this.#stream[Symbol.dispose]();
  }

  async #begin(): Promise<void> {
    const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const request = httpRequest('POST', '/mcp', this.#port, this.#headers, initialized);
    const { status } = await this.#calls.request(request);
    if (status !== 202) throw new Error(`initialized was answered with ${status}`);
    const accept = { ...this.#headers, accept: 'text/event-stream' };
    await this.#stream.stream(httpRequest('GET', '/mcp', this.#port, accept), text => this.#read(text));
  }

  #read(text: string): void {
    const lines = (this.#pending + text).split('\n');
    this.#pending = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const notice = noticeSchema.safeParse(JSON.parse(line.slice('data: '.length)));
      // The example also requests an API key as soon as the stream is open.
      if (!notice.success) continue;
      const { elicitationId } = notice.data.params;
      this.#completions.get(elicitationId)?.();
      this.#completions.delete(elicitationId);
    }
  }
}
