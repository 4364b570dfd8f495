import { CapabilityMissingError } from './errors.ts';
import type { ToolAnswer } from './tool-call.ts';

/**
 * Ends a tool handler early because the user has to be asked first. It is an error because nothing else can leave an `async`
 * function early. The handler runs again from its first line when the MCP client retries.
 */
export class Suspension extends Error {
  override readonly name = 'ElicitationPending';
  readonly answer: ToolAnswer;

  constructor(answer: ToolAnswer) {
    super('The user is being asked. This is control flow of @postern/mcp: rethrow it, never handle it.');
    this.answer = answer;
  }
}

/**
 * For handlers that catch broadly: `catch (error) { if (isElicitationPending(error)) throw error; … }`. True for the
 * errors that this package converts to a result: a suspension, and a `CapabilityMissingError`, which a handler may also catch by its class.
 */
export function isElicitationPending(error: unknown): boolean {
  return findSuspension(error) !== undefined || findError(error, CapabilityMissingError) !== undefined;
}

export function findSuspension(error: unknown): Suspension | undefined {
  return findError(error, Suspension);
}

/** Also finds an error that a handler wrapped with `cause`. */
export function findError<E extends Error>(
  error: unknown,
  kind: abstract new (...parameters: never[]) => E,
): E | undefined {
  const seen = new Set<unknown>();
  for (let current = error; current instanceof Error && !seen.has(current); current = current.cause) {
    if (current instanceof kind) return current;
    seen.add(current);
  }
  return undefined;
}
