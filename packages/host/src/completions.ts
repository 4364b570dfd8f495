/** Bounds what an MCP server can make a host remember. */
const MAX_REMEMBERED = 1024;
const MAX_ID_LENGTH = 512;

/**
 * Which URL elicitations of one connection the MCP server has called complete (`notifications/elicitation/complete`,
 * 2025-11-25).
 *
 * A notice for an unknown or finished id has no effect, as the specification demands. Its id is remembered all the same:
 * notice and error travel on different streams, so the notice may be here before the id is known.
 */
export class Completions {
  readonly #finished = new Set<string>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /** A notice has come. */
  finish(elicitationId: string): void {
    if (elicitationId.length > MAX_ID_LENGTH || this.#finished.has(elicitationId)) return;
    this.#finished.add(elicitationId);
    for (const oldest of this.#finished) {
      if (this.#finished.size <= MAX_REMEMBERED) break;
      this.#finished.delete(oldest);
    }
    for (const resolve of this.#waiting.get(elicitationId) ?? []) resolve();
    this.#waiting.delete(elicitationId);
  }

  /**
   * Resolves when the MCP server has called the elicitation complete, which it need not ever do: whoever waits no longer
   * aborts `signal`, and the promise stays open.
   */
  completion(elicitationId: string, signal?: AbortSignal): Promise<void> {
    if (this.#finished.has(elicitationId)) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(elicitationId) ?? new Set();
    this.#waiting.set(elicitationId, waiting.add(resolve));
    signal?.addEventListener(
      'abort',
      () => {
        waiting.delete(resolve);
        if (waiting.size === 0) this.#waiting.delete(elicitationId);
      },
      { once: true },
    );
    return promise;
  }
}
