import type { ClientConnection } from '../call.ts';
import { notificationText } from '../client-requests.ts';
import type { SentSecrets } from '../sent-secrets.ts';
import { type AskUpstream, ToolList } from '../tool-list.ts';
import { AddedEvents, type StreamEvent } from './events.ts';
import type { SessionState } from './session-ids.ts';

/** Of notices that wait for a stream. */
const MAX_DUE = 100;

export interface HttpConnectionOptions {
  readonly owner: string;
  /** The id that the MCP client has, and what is sealed in it. Undefined for requests without a session. */
  readonly session: { readonly id: string; readonly state: SessionState } | undefined;
  /** Sends a request of this proxy as a part of this connection. */
  readonly ask: (connection: HttpConnection, ...request: Parameters<AskUpstream>) => ReturnType<AskUpstream>;
  /** Of all connections of one person. */
  readonly secrets: SentSecrets;
}

/** A session of an MCP client (2025-11-25), or what a person's requests without a session have in common. */
export class HttpConnection implements ClientConnection {
  readonly owner: string;
  readonly sessionId: string | undefined;
  /** What the upstream calls the session. */
  readonly upstreamSessionId: string | undefined;
  readonly initialize: string | undefined;
  readonly lasts: boolean;
  readonly tools: ToolList;
  readonly secrets: SentSecrets;
  /** Calls that have not gone to the upstream yet, by id. */
  readonly held = new Map<string, AbortController>();
  /** Whether the upstream did not know the session when it was asked last. */
  isGone = false;
  /** Of the MCP client's last request. */
  revision: string | undefined;
  readonly #closed = new AbortController();
  /** Open streams of the MCP client, for messages that belong to no request. */
  readonly #streams = new Set<AddedEvents>();
  #due: StreamEvent[] = [];

  constructor({ owner, session, ask, secrets }: HttpConnectionOptions) {
    this.owner = owner;
    this.sessionId = session?.id;
    this.upstreamSessionId = session?.state.id;
    this.initialize = session?.state.initialize;
    this.lasts = session !== undefined;
    this.secrets = secrets;
    this.tools = new ToolList((method, params) => ask(this, method, params));
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  close(): void {
    this.#closed.abort();
  }

  /** Waits for a stream, if none is open. */
  async notifyComplete(elicitationId: string): Promise<void> {
    const notice = { data: notificationText('notifications/elicitation/complete', { elicitationId }) };
    const [stream] = this.#streams;
    if (stream === undefined) this.#due = [...this.#due, notice].slice(-MAX_DUE);
    else stream.add(notice);
  }

  /** The stream of the upstream, with what this proxy has to say. */
  async *within(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const stream = new AddedEvents();
    for (const notice of this.#due.splice(0)) stream.add(notice);
    this.#streams.add(stream);
    try {
      yield* stream.within(body);
    } finally {
      this.#streams.delete(stream);
    }
  }
}
