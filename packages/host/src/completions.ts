/** Maximum number of ids that an MCP server can make the host remember. */
const MAX_REMEMBERED = 1024;
const MAX_ID_LENGTH = 512;

/**
 * Tracks which URL elicitations of one connection the MCP server has reported complete
 * (`notifications/elicitation/complete`, 2025-11-25).
 *
 * A notice for an unknown or finished id has no effect, as the specification demands. The id is remembered nevertheless:
 * notice and error travel on different streams, so the notice may arrive first.
 */
export class Completions {
  readonly #finished = new Set<string>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Handles a completion notice. */
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
   * Resolves when the MCP server reports the elicitation as complete, which is optional. Aborting `signal` ends the wait
   * and leaves the promise pending.
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
