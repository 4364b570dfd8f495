import type { ConnectOptions } from '../host/connect-host.ts';

type Fetch = NonNullable<ConnectOptions['fetch']>;

/** Everything that went over MCP, both ways, as it was on the wire. Held in memory only. */
export class FrameLog {
  readonly #frames: string[] = [];
  readonly #mcpUrl: string;
  #lastCall: Parameters<Fetch> | undefined;

  constructor(mcpUrl: string) {
    this.#mcpUrl = mcpUrl;
  }

  get frames(): readonly string[] {
    return this.#frames;
  }

  /** A fetch that keeps a copy of what it sends to the MCP server and of what comes back, streams too. */
  readonly fetch: Fetch = async (url, init) => {
    const isMcp = String(url) === this.#mcpUrl;
    if (isMcp && typeof init?.body === 'string') {
      this.#frames.push(init.body);
      if (init.body.includes('"method":"tools/call"')) this.#lastCall = [url, init];
    }
    const response = await fetch(url, init);
    if (isMcp && response.body !== null) void this.#keep(response.clone());
    return response;
  };

  /** Sends the last tool call once more, byte for byte, as a network does that has lost the answer. @returns the answer */
  async repeatLastCall(): Promise<string> {
    if (this.#lastCall === undefined) throw new TypeError('no tool was called yet');
    const [url, { signal: _, ...init } = {}] = this.#lastCall;
    return await (await this.fetch(url, init)).text();
  }

  async #keep(copy: Response): Promise<void> {
    const decoder = new TextDecoder();
    const at = this.#frames.push('') - 1;
    const append = (text: string) => {
      this.#frames[at] += text;
    };
    try {
      for await (const chunk of copy.body ?? []) append(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      // The host ends its streams by aborting them; what had arrived by then is kept.
      if (!(error instanceof Error && error.name === 'AbortError')) append(`(broken off: ${String(error)})`);
    }
  }
}
