import { type Endpoint, post, readMessages } from './endpoint.ts';
import { type Id, isResponse, type Message, WireError } from './messages.ts';

export type Action = 'accept' | 'decline' | 'cancel';

export interface LegacySessionOptions {
  /** `elicitation` of the declared capabilities; null declares none. */
  readonly elicitation: Readonly<Record<string, unknown>> | null;
  /** The response to `elicitation/create` during a call. Default `cancel`. */
  readonly action?: Action;
}

export interface LegacyCall {
  /** The response to the call. */
  readonly answer: Promise<Message>;
  /** The first `elicitation/create` in the stream of this call. Stays pending if there is none. */
  readonly pushed: Promise<Message>;
}

/** A session of revision 2025-11-25, with its GET stream if the MCP server has one. */
export interface LegacySession extends AsyncDisposable {
  readonly id: string | undefined;
  /** All requests and notifications of the MCP server so far. */
  readonly received: readonly Message[];
  call(tool: string, args: Readonly<Record<string, unknown>>): LegacyCall;
  /** Resolves with the first received message for which `matches` holds, or undefined after `ms`. */
  until(matches: (message: Message) => boolean, ms: number): Promise<Message | undefined>;
}

/** @throws WireError if the MCP server does not accept the session */
export async function openLegacySession(
  endpoint: Endpoint,
  { elicitation, action = 'cancel' }: LegacySessionOptions,
  limit: AbortSignal,
): Promise<LegacySession> {
  const closing = new AbortController();
  const signal = AbortSignal.any([closing.signal, limit]);
  const received: Message[] = [];
  const watchers = new Set<(message: Message) => void>();
  const headers: Record<string, string> = {};
  let lastId = 0;

  const send = (message: object) => post(endpoint, message, { headers, signal });
  const notify = async (message: object) => void (await (await send(message)).body?.cancel());

  async function respond(id: Id, reply: object): Promise<void> {
    // A response that the MCP server no longer wants changes nothing about the call.
    await notify({ jsonrpc: '2.0', id, ...reply }).catch(() => undefined);
  }

  function receive(message: Message, isCall: boolean): void {
    received.push(message);
    for (const watcher of watchers) watcher(message);
    if (message.method === undefined || message.id === undefined || message.id === null) return;
    // What comes outside of a call belongs to no call of ours.
    if (message.method === 'elicitation/create')
      void respond(message.id, { result: { action: isCall ? action : 'cancel' } });
    else if (message.method === 'ping') void respond(message.id, { result: {} });
    else void respond(message.id, { error: { code: -32601, message: 'Method not found' } });
  }

  function request(method: string, params: object, onPush?: (message: Message) => void) {
    lastId += 1;
    const id = lastId;
    const finish = async () => {
      const response = await send({ jsonrpc: '2.0', id, method, params });
      let answer: Message | undefined;
      await readMessages(response, message => {
        if (isResponse(message)) answer = message;
        else {
          if (message.method === 'elicitation/create') onPush?.(message);
          receive(message, true);
        }
        return answer !== undefined;
      });
      if (answer === undefined) throw new WireError(`no response to ${method}; HTTP status ${response.status}`);
      return { response, answer };
    };
    return finish();
  }

  const { response, answer } = await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: elicitation === null ? {} : { elicitation },
    clientInfo: { name: 'url-mode-conformance', version: '1.0.0' },
  });
  if (answer.result === undefined) throw new WireError(`initialize failed: ${answer.error?.code}`);
  const id = response.headers.get('mcp-session-id') ?? undefined;
  headers['mcp-protocol-version'] = String(answer.result['protocolVersion']);
  if (id !== undefined) headers['mcp-session-id'] = id;
  await notify({ jsonrpc: '2.0', method: 'notifications/initialized' });

  const stream = await fetch(endpoint.url, {
    redirect: 'error',
    signal,
    headers: { ...endpoint.headers, ...headers, accept: 'text/event-stream' },
  });
  const listening =
    stream.status === 200
      ? readMessages(stream, message => {
          receive(message, false);
          return false;
        }).catch(() => undefined)
      : stream.body?.cancel();

  return {
    id,
    received,
    call(tool, args) {
      const { promise: pushed, resolve } = Promise.withResolvers<Message>();
      const answered = request('tools/call', { name: tool, arguments: args }, resolve).then(each => each.answer);
      // A caller that only wants the pushed request leaves the answer alone.
      answered.catch(() => undefined);
      return { answer: answered, pushed };
    },
    async until(matches, ms) {
      const known = received.find(matches);
      if (known !== undefined) return known;
      const { promise, resolve } = Promise.withResolvers<Message | undefined>();
      const watcher = (message: Message) => (matches(message) ? resolve(message) : undefined);
      watchers.add(watcher);
      const timer = setTimeout(resolve, ms, undefined);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        watchers.delete(watcher);
      }
    },
    async [Symbol.asyncDispose]() {
      if (id !== undefined)
        await fetch(endpoint.url, {
          method: 'DELETE',
          redirect: 'error',
          headers: { ...endpoint.headers, ...headers },
          signal,
        })
          .then(each => each.body?.cancel())
          .catch(() => undefined);
      closing.abort();
      await listening;
    },
  };
}
