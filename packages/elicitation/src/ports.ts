import type { ConnectionId, ElicitationId } from './ids.ts';

/**
 * Ports declare what the domain needs from outside. The port of a record is declared next to it: `elicitation-store.ts`,
 * `connection.ts`, `revocation.ts`, `credential.ts`, `passkey.ts`, `payment-store.ts`, `one-time.ts`, `browser-session.ts`,
 * `events.ts`.
 *
 * In every store, check and write are one verb: no port offers "get" followed by "update". Every mutation takes an operation id
 * or a digest, so that repeating it after a lost response is harmless. All verbs throw StoreUnavailableError if the store does
 * not answer.
 */

/** Registered before a read, so that a change between reading and waiting is not lost. */
export interface Watch extends Disposable {
  /** Resolves on a wake-up since the last call, after `timeoutMs`, or on abort. Only a hint: the caller reads again. */
  next(timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Notifier {
  watch(id: ElicitationId | ConnectionId): Watch;
}

/** Current time in epoch milliseconds. The store has its own clock; this one is for values that never reach the store. */
export type Clock = () => number;
