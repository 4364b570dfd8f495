/** One connection of the 2025-11-25 era, as this package needs it. */
export interface LegacySession {
  /** Undefined on stdio. */
  readonly sessionId: string | undefined;
  /** Aborts when the connection closes; whatever waits on its behalf ends then. */
  readonly closed: AbortSignal;
  /** Sends `notifications/elicitation/complete` to this connection alone, outside any request's stream. */
  notifyComplete(elicitationId: string): Promise<void>;
}
