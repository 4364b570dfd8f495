import type { ToolAnswer } from './tool-call.ts';

/**
 * Ends a handler early: because the user has to be asked first, or has refused. It is an error because nothing else can leave an `async`
 * function early. After a question, the handler runs again from its first line when the MCP client retries.
 */
export class Suspension extends Error {
  override readonly name = 'ElicitationPending';
  readonly answer: ToolAnswer;
  /** The user has refused, so the answers of this call are used up, as by a result of the handler. */
  readonly isRefusal: boolean;

  constructor(answer: ToolAnswer, isRefusal = false) {
    super('@postern/mcp ends this call. This is control flow: rethrow it, never handle it.');
    this.answer = answer;
    this.isRefusal = isRefusal;
  }

  /** The same, for another stack. */
  copy(): Suspension {
    return new Suspension(this.answer, this.isRefusal);
  }
}

/**
 * For handlers that catch broadly: `catch (error) { if (isElicitationPending(error)) throw error; … }`. True only for the error by
 * which this package suspends or ends a handler. All other errors, `CapabilityMissingError` included, are the handler's to catch.
 */
export function isElicitationPending(error: unknown): boolean {
  return findSuspension(error) !== undefined;
}

export function findSuspension(error: unknown): Suspension | undefined {
  return findError(error, Suspension);
}

/** Also finds an error that a handler wrapped with `cause`. */
export function findError<E extends Error>(
  error: unknown,
  kind: abstract new (...parameters: never[]) => E,
): E | undefined {
  for (const current of causesOf(error)) if (current instanceof kind) return current;
  return undefined;
}

/** The error, its cause, the cause of that, and so on. */
export function causesOf(error: unknown): ReadonlySet<Error> {
  const seen = new Set<Error>();
  for (let current = error; current instanceof Error && !seen.has(current); current = current.cause) seen.add(current);
  return seen;
}
