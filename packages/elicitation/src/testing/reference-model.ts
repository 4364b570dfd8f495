import type { ElicitationStatus } from '../elicitation.ts';
import type { ElicitationId } from '../ids.ts';

/**
 * What the service must answer when nothing happens at the same time: the design, said a second time in the plainest way
 * and without anything of the implementation. The people and MCP servers are those of the model-based test.
 */
export const people = ['alice', 'bob'] as const;
export type Person = (typeof people)[number];
/** `tracker` signs people in at the gateway, `calendar` vouches for them itself. */
export const mcpServerIds = ['tracker', 'calendar'] as const;
export type McpServerId = (typeof mcpServerIds)[number];

export interface ModelVisitor {
  readonly person: Person | 'mallory' | 'whoever';
  readonly vouchedBy?: McpServerId;
}

/** One verb with everything it is called with. */
export type Call =
  | { verb: 'issue'; mcpServerId: McpServerId; person: Person; scopes: readonly string[] }
  | { verb: 'read' | 'cancel'; mcpServerId: McpServerId; id: ElicitationId }
  | { verb: 'open' | 'decline'; visitor: ModelVisitor; id: ElicitationId }
  | { verb: 'accept'; visitor: ModelVisitor; id: ElicitationId; begins: string; agreedScopes: readonly string[] }
  | { verb: 'hold'; id: ElicitationId; attempt: string; begins: string }
  | { verb: 'retry' | 'fail'; id: ElicitationId; attempt: string }
  | { verb: 'complete'; id: ElicitationId; attempt: string; connectionOf: ElicitationId }
  | { verb: 'expire'; id: ElicitationId }
  | { verb: 'advance'; ms: number };

export interface Known {
  readonly mcpServerId: McpServerId;
  readonly person: Person;
  /** What was asked at first, and is shown on a page that was never drawn again. */
  readonly firstScopes: readonly string[];
  readonly expiresAt: number;
  /** What is asked by now. */
  scopes: readonly string[];
  status: ElicitationStatus;
  /** The value that the attempt in progress is called by. */
  attempt: string | undefined;
}

const open: readonly ElicitationStatus[] = ['pending', 'active', 'verifying'];

/** Whether the caller has no business with the elicitation; then the answer is the same in every status. */
export function trespass(call: Call, of: Known): 'wrong_person' | 'not_found' | undefined {
  if (call.verb === 'read' || call.verb === 'cancel')
    return call.mcpServerId === of.mcpServerId ? undefined : 'not_found';
  if (call.verb !== 'open' && call.verb !== 'accept' && call.verb !== 'decline') return undefined;
  const voucher = of.mcpServerId === 'calendar' ? 'calendar' : undefined;
  return call.visitor.person === of.person && call.visitor.vouchedBy === voucher ? undefined : 'wrong_person';
}

const isWithin = (scopes: readonly string[], others: readonly string[]) => scopes.every(it => others.includes(it));

export class ReferenceModel {
  now: number;
  readonly known = new Map<ElicitationId, Known>();
  /** The newest elicitation of each MCP server for each person. */
  readonly #newest = new Map<string, Known>();
  /** Scopes of each connection there is. */
  readonly #connections = new Map<string, readonly string[]>();

  constructor(now: number) {
    this.now = now;
  }

  /** What the call comes to: a status, a disposition, or the code of the refusal. Moves the model accordingly. */
  predict(call: Call): string {
    if (call.verb === 'advance') {
      this.now += call.ms;
      return 'advanced';
    }
    if (call.verb === 'issue') return this.#issue(call);
    const of = this.known.get(call.id);
    if (of === undefined) return 'not_found';
    return trespass(call, of) ?? this.#decide(call, of);
  }

  /** In the order of the commits. */
  created(id: ElicitationId, known: Known): void {
    this.known.set(id, known);
    this.#newest.set(`${known.mcpServerId} ${known.person}`, known);
  }

  connect({ mcpServerId, person, scopes }: Known): void {
    this.#connections.set(`${mcpServerId} ${person}`, scopes);
  }

  #issue({ mcpServerId, person, scopes }: Extract<Call, { verb: 'issue' }>): string {
    const connected = this.#connections.get(`${mcpServerId} ${person}`);
    if (connected && isWithin(scopes, connected)) return 'served';
    const newest = this.#newest.get(`${mcpServerId} ${person}`);
    if (newest === undefined || !open.includes(newest.status) || newest.expiresAt <= this.now) return 'created';
    if (isWithin(scopes, newest.scopes)) return 'open';
    if (newest.status !== 'pending') return 'created';
    newest.scopes = [...new Set([...newest.scopes, ...scopes])];
    return 'open';
  }

  #decide(call: Exclude<Call, { verb: 'issue' | 'advance' }>, of: Known): string {
    const isOver = this.now >= of.expiresAt;
    const isOpen = open.includes(of.status);
    const ends = () => {
      of.status = of.status === 'verifying' ? 'failed' : 'expired';
      of.attempt = undefined;
    };
    const moveTo = (status: ElicitationStatus, attempt?: string): string => {
      if (isOver && !(call.verb === 'fail' && of.status === 'verifying')) {
        ends();
        return 'already_ended';
      }
      of.status = status;
      of.attempt = attempt;
      return status;
    };

    switch (call.verb) {
      case 'read':
      case 'open':
        return of.status;
      case 'expire':
        if (isOpen && isOver) ends();
        return of.status;
      case 'accept':
      case 'decline':
      case 'cancel': {
        const end = call.verb === 'decline' ? 'declined' : 'cancelled';
        if (call.verb !== 'accept' && of.status === end) return end;
        if (!isOpen) return 'already_ended';
        if (of.status === 'verifying') return 'illegal_transition';
        if (call.verb === 'accept' && !isWithin(of.scopes, call.agreedScopes)) return 'request_changed';
        return call.verb === 'accept' ? moveTo('active', call.begins) : moveTo(end);
      }
      default: {
        if (!isOpen) return 'already_ended';
        if (of.attempt === undefined || of.attempt !== call.attempt) return 'illegal_transition';
        if (call.verb === 'fail') return moveTo('failed');
        if (call.verb === 'complete') {
          if (call.connectionOf !== call.id) return 'TypeError';
          const outcome = moveTo('completed');
          if (outcome === 'completed') this.connect(of);
          return outcome;
        }
        if (of.status === 'verifying') return 'illegal_transition';
        return call.verb === 'hold' ? moveTo('verifying', call.begins) : moveTo('pending');
      }
    }
  }
}
