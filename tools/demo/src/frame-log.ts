import type { ConnectOptions } from './host/connect-host.ts';
import { Ring } from './ring.ts';

type Fetch = NonNullable<ConnectOptions['fetch']>;

/** Records MCP messages of both directions as sent, in memory. */
export class FrameLog {
  readonly #frames: Ring<{ text: string }>;
  readonly #mcpUrl: string;
  #lastCall: Parameters<Fetch> | undefined;

  /** @param most how many messages it keeps, the newest ones. Default: all */
  constructor(mcpUrl: string, most = Number.POSITIVE_INFINITY) {
    this.#mcpUrl = mcpUrl;
    this.#frames = new Ring(most);
  }

  get frames(): readonly string[] {
    return this.#frames.items.map(({ text }) => text);
  }

  /** Number of messages so far, dropped ones included. */
  get total(): number {
    return this.#frames.total;
  }

  /** Wraps `fetch` to record each request to the MCP server and its response, streams included. */
  readonly fetch: Fetch = async (url, init) => {
    const isMcp = String(url) === this.#mcpUrl;
    if (isMcp && typeof init?.body === 'string') {
      this.#frames.push({ text: init.body });
      if (init.body.includes('"method":"tools/call"')) this.#lastCall = [url, init];
    }
    const response = await fetch(url, init);
    if (isMcp && response.body !== null) void this.#keep(response.clone());
    return response;
  };

  /** Repeats the last tool call byte for byte, as after a lost response. @returns the response */
  async repeatLastCall(): Promise<string> {
    if (this.#lastCall === undefined) throw new TypeError('no tool has been called');
    const [url, { signal: _, ...init } = {}] = this.#lastCall;
    return await (await this.fetch(url, init)).text();
  }

  async #keep(copy: Response): Promise<void> {
    const decoder = new TextDecoder();
    const frame = { text: '' };
    this.#frames.push(frame);
    const append = (text: string) => {
      frame.text += text;
    };
    try {
      for await (const chunk of copy.body ?? []) append(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      // The host closes its streams by aborting them. Keeps the data received before.
      if (!(error instanceof Error && error.name === 'AbortError')) append(`(broken off: ${String(error)})`);
    }
  }
}
