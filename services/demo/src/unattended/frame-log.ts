import type { HostOptions } from '../host/host.ts';

type Fetch = NonNullable<HostOptions['fetch']>;

/** Everything that went over MCP, both ways, as it was on the wire. Held in memory only. */
export class FrameLog {
  readonly #frames: string[] = [];
  readonly #mcpUrl: string;

  constructor(mcpUrl: string) {
    this.#mcpUrl = mcpUrl;
  }

  get frames(): readonly string[] {
    return this.#frames;
  }

  /** A fetch that keeps a copy of what it sends to the MCP server and of what comes back, streams too. */
  readonly fetch: Fetch = async (url, init) => {
    const isMcp = String(url) === this.#mcpUrl;
    if (isMcp && typeof init?.body === 'string') this.#frames.push(init.body);
    const response = await fetch(url, init);
    if (isMcp && response.body !== null) void this.#keep(response.clone());
    return response;
  };

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
