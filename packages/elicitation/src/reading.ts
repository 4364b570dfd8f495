import { type Elicitation, isTerminal } from './elicitation.ts';
import { NotFoundError } from './errors.ts';
import type { ElicitationId } from './ids.ts';
import type { McpServer } from './mcp-server.ts';
import type { Clock, ElicitationStore, Notifier } from './ports.ts';
import type { SamePersonCheck } from './same-person-check.ts';
import { isSamePerson, type Visitor } from './visitor.ts';

export interface ReadingDeps {
  readonly elicitations: ElicitationStore;
  readonly notifier: Notifier;
  readonly now: Clock;
  readonly assertSamePerson: SamePersonCheck;
}

/** Wake-ups are hints that can get lost on their way; nobody waits longer than this for a change that has happened. */
const READ_AGAIN_MS = 15_000;

/** Looking at elicitations, each reader with what is theirs to see. Nothing here changes anything. */
export function createReading({ elicitations, notifier, now, assertSamePerson }: ReadingDeps) {
  /** @throws NotFoundError for unknown ids and for those of another MCP server, alike. */
  async function read(mcpServer: Pick<McpServer, 'mcpServerId'>, elicitationId: ElicitationId): Promise<Elicitation> {
    const elicitation = await elicitations.read(elicitationId);
    if (elicitation?.mcpServerId !== mcpServer.mcpServerId) throw new NotFoundError();
    return elicitation;
  }

  /**
   * Reads until the status is terminal, `timeoutMs` is over or the caller has gone. Registers for wake-ups before the
   * first read, so a change in between is not lost, and reads again from time to time all the same.
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

  /** What whoever waits is told; undefined while they go on waiting, and then nothing of what was read is kept for so long. */
  async function readEnd(
    mcpServer: Pick<McpServer, 'mcpServerId'>,
    elicitationId: ElicitationId,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<Elicitation | undefined> {
    const elicitation = await read(mcpServer, elicitationId);
    return isTerminal(elicitation) || now() >= deadline || signal?.aborted === true ? elicitation : undefined;
  }

  /** Check 1: what a page may show. @throws NotFoundError, WrongPersonError */
  async function open(elicitationId: ElicitationId, visitor: Visitor): Promise<Elicitation> {
    const elicitation = await elicitations.read(elicitationId);
    if (elicitation === undefined) throw new NotFoundError();
    assertSamePerson(elicitation, visitor);
    return elicitation;
  }

  /** For routes that must know how to sign the visitor in, before anything is shown. */
  function find(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    return elicitations.read(elicitationId);
  }

  /** What waits for the visitor's decision or verification, of every MCP server, oldest first: what `open` would show them. */
  async function listOpen(visitor: Extract<Visitor, { kind: 'signed_in' }>): Promise<readonly Elicitation[]> {
    const found = await elicitations.listOpen(visitor.subject);
    return found.filter(elicitation => isSamePerson(elicitation, visitor));
  }

  return { read, wait, open, find, listOpen };
}
