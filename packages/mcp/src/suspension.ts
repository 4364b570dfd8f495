import type { ToolAnswer } from './tool-call.ts';

/**
 * Ends a tool handler early because the user has to be asked first. It is control flow in the clothes of an error: nothing
 * else leaves a plain `async` function. The handler runs again from its first line when the MCP client retries.
 */
export class Suspension extends Error {
  override readonly name = 'ElicitationPending';
  readonly answer: ToolAnswer;

  constructor(answer: ToolAnswer) {
    super('The user is being asked. This is control flow of @postern/mcp: rethrow it, never handle it.');
    this.answer = answer;
  }
}

/** For handlers that catch broadly: `catch (error) { if (isElicitationPending(error)) throw error; … }`. */
export function isElicitationPending(error: unknown): boolean {
  return findSuspension(error) !== undefined;
}

/** A handler may have wrapped it with `cause`; the meaning is the same. */
export function findSuspension(error: unknown): Suspension | undefined {
  const seen = new Set<unknown>();
  for (let current = error; current instanceof Error && !seen.has(current); current = current.cause) {
    if (current instanceof Suspension) return current;
    seen.add(current);
  }
  return undefined;
}
