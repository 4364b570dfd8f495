import { type Clock, type Elicitation, isTerminal, type TerminalElicitation } from './elicitation.ts';
import type { ElicitationStore } from './elicitation-store.ts';
import { NotFoundError } from './errors.ts';
import type { ElicitationId } from './ids.ts';
import type { McpServer } from './mcp-server.ts';
import { isSamePerson, type Visitor } from './same-person-check.ts';
import type { Notifier } from './waiters.ts';

export interface ReadingDeps {
  readonly elicitations: ElicitationStore;
  readonly notifier: Notifier;
  readonly now: Clock;
}

/** Maximum delay before a waiter sees a committed change whose wake-up was lost. */
const READ_AGAIN_MS = 15_000;

/** Reads elicitations. Each reader sees only their own. Nothing here changes anything. */
export function createReading({ elicitations, notifier, now }: ReadingDeps) {
  /** @throws NotFoundError for unknown ids and, alike, for those of another MCP server */
  async function read(mcpServer: Pick<McpServer, 'mcpServerId'>, elicitationId: ElicitationId): Promise<Elicitation> {
    const elicitation = await elicitations.read(elicitationId);
    if (elicitation?.mcpServerId !== mcpServer.mcpServerId) throw new NotFoundError();
    return elicitation;
  }

  /**
   * Reads until the status is terminal, `timeoutMs` has passed or the caller has disconnected. Registers for wake-ups before the
   * first read, so a change in between is not lost, and still reads again from time to time.
   * @throws NotFoundError as `read`
   */
  async function wait(
    mcpServer: Pick<McpServer, 'mcpServerId'>,
    elicitationId: ElicitationId,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Elicitation> {
    const deadline = now() + timeoutMs;
    using watch = notifier.watch(elicitationId);
    while (true) {
      const found = await readEnd(mcpServer, elicitationId, deadline, signal);
      if (found !== undefined) return found;
      await watch.next(Math.min(deadline - now(), READ_AGAIN_MS), signal);
    }
  }

  /** Returns the waiter's result, or undefined while it keeps waiting; the record is then not kept in memory. */
  async function readEnd(
    mcpServer: Pick<McpServer, 'mcpServerId'>,
    elicitationId: ElicitationId,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<Elicitation | undefined> {
    const elicitation = await read(mcpServer, elicitationId);
    return isTerminal(elicitation) || now() >= deadline || signal?.aborted === true ? elicitation : undefined;
  }

  /** For pages, which sign the visitor in first and show nothing before `checkSamePerson` (check 1). */
  function find(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    return elicitations.read(elicitationId);
  }

  /** Elicitations of these MCP servers that wait for the visitor's decision or verification, oldest first. */
  async function listOpen(
    visitor: Extract<Visitor, { kind: 'signed_in' }>,
    mcpServerIds: readonly string[],
  ): Promise<readonly Elicitation[]> {
    const found = await elicitations.listOpen(visitor.subject, mcpServerIds);
    return found.filter(elicitation => isSamePerson(elicitation, visitor));
  }

  /** Elicitations that the visitor has ended, of every MCP server that the visitor's identity counts for, newest first, until their records expire. */
  async function listEnded(visitor: Extract<Visitor, { kind: 'signed_in' }>): Promise<readonly TerminalElicitation[]> {
    const found = await elicitations.listEnded(visitor.subject, visitor.vouchedBy);
    return found.filter(elicitation => isSamePerson(elicitation, visitor));
  }

  return { read, wait, find, listOpen, listEnded };
}
