/** How far a process is with stopping. Goes one way. */
export interface Stopping {
  /** It still serves, and says that nobody should be sent here any more; every answer ends its connection. */
  readonly draining: AbortSignal;
  /** Nobody can come any more: what waits is answered as things stand, streams end. Implies `draining`. */
  readonly closing: AbortSignal;
  drain(): void;
  close(): void;
}

export function createStopping(): Stopping {
  const draining = new AbortController();
  const closing = new AbortController();
  return {
    draining: draining.signal,
    closing: closing.signal,
    drain: () => draining.abort(),
    close() {
      draining.abort();
      closing.abort();
    },
  };
}

/** The process does its work, and will not for long. */
export class StoppingError extends Error {
  override readonly name = 'StoppingError';
  constructor() {
    super('The gateway is stopping.');
  }
}
