import type { Shares } from './shares.ts';

/** What a place is counted in. */
export interface CountedIn {
  /** Requests that are worked on, of everybody. */
  readonly inFlight: { enter(): void; leave(): void };
  /** API requests by MCP server, from the verified credential to the answer. */
  readonly mcpServers: Shares<string>;
  /** Requests by the TCP connection on which they came. */
  readonly connections: { readonly places: Shares<object>; readonly share: number };
}

/** Holder of the places of people at pages, who belong to no MCP server. No MCP server can have this id. */
export const PEOPLE = 'people at pages';

/**
 * The place of one request among those that this process works on. While the request waits for somebody outside it steps aside, so
 * that it holds neither a place of everybody nor one of its MCP server.
 */
export class RequestPlace implements Disposable {
  readonly #countedIn: CountedIn;
  readonly #onConnection: Disposable;
  #holder: string | undefined;
  #share: Disposable | undefined;
  #isEntered = false;
  #isAside = false;
  #isOver = false;

  private constructor(countedIn: CountedIn, onConnection: Disposable) {
    this.#countedIn = countedIn;
    this.#onConnection = onConnection;
  }

  /** Undefined when the connection has its share: requests on one connection are answered in turn, so nobody needs more. */
  static on(connection: object, countedIn: CountedIn): RequestPlace | undefined {
    const { places, share } = countedIn.connections;
    const taken = places.take(connection, share);
    return typeof taken === 'string' ? undefined : new RequestPlace(countedIn, taken);
  }

  get holder(): string {
    return this.#holder ?? PEOPLE;
  }

  get isAside(): boolean {
    return this.#isAside;
  }

  /** False when the MCP server has its share. */
  belongTo(mcpServerId: string, share: number): boolean {
    const taken = this.#countedIn.mcpServers.take(mcpServerId, share);
    if (typeof taken === 'string') return false;
    this.#holder = mcpServerId;
    this.#share = taken;
    return true;
  }

  /** Counts the request from now on, until it is over. */
  enter(): void {
    this.#isEntered = true;
    this.#countedIn.inFlight.enter();
  }

  /**
   * Steps aside while `work` waits. Coming back is never refused: what has been answered outside is used. How many come back at once
   * is limited by how many may be aside.
   */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver || this.#isAside) return work();
    this.#leave();
    this.#isAside = true;
    try {
      return await work();
    } finally {
      this.#isAside = false;
      if (!this.#isOver) this.#return();
    }
  }

  /** The answer is sent, or its caller has gone. */
  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onConnection[Symbol.dispose]();
    if (!this.#isAside) this.#leave();
  }

  #leave(): void {
    this.#share?.[Symbol.dispose]();
    if (this.#isEntered) this.#countedIn.inFlight.leave();
  }

  #return(): void {
    if (this.#holder !== undefined) this.#share = this.#countedIn.mcpServers.add(this.#holder);
    if (this.#isEntered) this.#countedIn.inFlight.enter();
  }
}
