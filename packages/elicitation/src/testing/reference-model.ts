import type { ElicitationStatus } from '../elicitation.ts';
import type { Settlement } from '../elicitation-service.ts';
import { digestOf, type ElicitationId } from '../ids.ts';
import type { Sample } from './kind-bench.ts';

/**
 * The results that the service must return without concurrency: a second, minimal statement of the design that shares nothing
 * with the implementation. The users and MCP servers are those of the model-based test.
 */
export const people = ['alice', 'bob'] as const;
export type Person = (typeof people)[number];
/** `tracker` signs users in at the gateway, `calendar` vouches for them. */
export const mcpServerIds = ['tracker', 'calendar'] as const;
export type McpServerId = (typeof mcpServerIds)[number];

export interface ModelVisitor {
  readonly person: Person | 'mallory' | 'anonymous';
  readonly vouchedBy?: McpServerId;
}

/** The request: the account of the user, or one of the samples. */
export type What = 'authorization' | Sample;

/** One verb with all its arguments. Attempts have their stored names; `begins` is the name of a new one. */
export type Call =
  | { verb: 'issue'; mcpServerId: McpServerId; person: Person; what: What; scopes: readonly string[] }
  | { verb: 'read' | 'cancel'; mcpServerId: McpServerId; id: ElicitationId }
  | { verb: 'redeem'; mcpServerId: McpServerId; id: ElicitationId; redemption: string }
  | { verb: 'open' | 'decline'; visitor: ModelVisitor; id: ElicitationId }
  | { verb: 'accept'; visitor: ModelVisitor; id: ElicitationId; begins: string; agreedScopes: readonly string[] }
  | { verb: 'approve'; visitor: ModelVisitor; id: ElicitationId; isShown: boolean }
  | { verb: 'beginCheck'; visitor: ModelVisitor; id: ElicitationId; begins: string }
  | { verb: 'submit'; visitor: ModelVisitor; id: ElicitationId; isShown: boolean; attempt: string | undefined }
  | { verb: 'hold'; id: ElicitationId; attempt: string; begins: string }
  | { verb: 'retry' | 'fail'; id: ElicitationId; attempt: string }
  | { verb: 'complete'; id: ElicitationId; attempt: string; connectionOf: ElicitationId }
  | { verb: 'recordCharge'; id: ElicitationId; attempt: string; reference: string }
  | { verb: 'settle'; id: ElicitationId; attempt: string; settlement: Settlement }
  | { verb: 'expire'; id: ElicitationId }
  | { verb: 'advance'; ms: number };

export interface Known {
  readonly mcpServerId: McpServerId;
  readonly person: Person;
  readonly what: What;
  /** The scopes of the first request, as on a page that was never reloaded. */
  readonly firstScopes: readonly string[];
  readonly expiresAt: number;
  /** The scopes requested now. */
  scopes: readonly string[];
  status: ElicitationStatus;
  /** The stored value of the attempt in progress. */
  attempt: string | undefined;
  charge: string | undefined;
  redemption: string | undefined;
}

/** The service chooses the attempt of an approval. This is its placeholder until the world has looked it up. */
const DRAWN = 'drawn';

const once: readonly What[] = ['payment', 'approval', 'confirmation', 'once', 'form'];
const approved: readonly What[] = ['payment', 'approval', 'confirmation'];
const checked: readonly What[] = ['once', 'lasting'];
const typed: readonly What[] = [...checked, 'form'];
const isCharging = ({ what, status }: Known) => what === 'payment' && status === 'active';

const open: readonly ElicitationStatus[] = ['pending', 'active', 'verifying'];

/** Whether the caller has no access to the elicitation; then the result is the same in every status. */
export function trespass(call: Call, of: Known): 'wrong_person' | 'not_found' | undefined {
  if ('mcpServerId' in call) return call.mcpServerId === of.mcpServerId ? undefined : 'not_found';
  if (!('visitor' in call)) return undefined;
  const voucher = of.mcpServerId === 'calendar' ? 'calendar' : undefined;
  return call.visitor.person === of.person && call.visitor.vouchedBy === voucher ? undefined : 'wrong_person';
}

const isWithin = (scopes: readonly string[], others: readonly string[]) => scopes.every(it => others.includes(it));

export class ReferenceModel {
  now: number;
  readonly known = new Map<ElicitationId, Known>();
  /** The newest elicitation per MCP server, user and request. */
  readonly #newest = new Map<string, Known>();
  /** Scopes of each existing connection. */
  readonly #connections = new Map<string, readonly string[]>();
  /** Owners of the existing lasting credentials. */
  readonly #credentials = new Set<string>();

  constructor(now: number) {
    this.now = now;
  }

  /** Predicts the result of the call: a status, a disposition, or the code of the refusal. Updates the model. */
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

  /** Called in commit order. */
  created(id: ElicitationId, known: Known): void {
    this.known.set(id, known);
    this.#newest.set(`${known.mcpServerId} ${known.person} ${known.what}`, known);
  }

  /** Records the connection or credential of a completed elicitation. */
  keep({ mcpServerId, person, what, scopes }: Known): void {
    if (what === 'authorization') this.#connections.set(`${mcpServerId} ${person}`, scopes);
    if (what === 'lasting') this.#credentials.add(`${mcpServerId} ${person}`);
  }

  #issue({ mcpServerId, person, what, scopes }: Extract<Call, { verb: 'issue' }>): string {
    const whose = `${mcpServerId} ${person}`;
    const newest = this.#newest.get(`${whose} ${what}`);
    const isOpen = newest !== undefined && open.includes(newest.status) && newest.expiresAt > this.now;
    if (what !== 'authorization') {
      if (what === 'lasting' && this.#credentials.has(whose)) return 'existing_credential';
      const isUnredeemed = newest?.status === 'completed' && once.includes(what) && newest.redemption === undefined;
      // A payment is found however late.
      if (isUnredeemed && (what === 'payment' || newest.expiresAt > this.now)) return 'answered';
      return isOpen || (newest && isCharging(newest)) ? 'open' : 'created';
    }
    const connected = this.#connections.get(whose);
    if (connected && isWithin(scopes, connected)) return 'existing_connection';
    if (!isOpen) return 'created';
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
    const move = (status: ElicitationStatus, attempt?: string): string => {
      of.status = status;
      of.attempt = attempt;
      of.charge = undefined;
      if (status === 'completed') this.keep(of);
      return status;
    };
    const moveTo = (status: ElicitationStatus, attempt?: string): string => {
      if (!isOver || (call.verb === 'fail' && of.status === 'verifying')) return move(status, attempt);
      ends();
      return 'already_ended';
    };

    switch (call.verb) {
      case 'read':
      case 'open':
        return of.status;
      case 'expire':
        if (isCharging(of)) return 'payment_in_progress';
        if (isOpen && isOver) ends();
        return of.status;
      case 'accept':
      case 'decline':
      case 'cancel': {
        const end = call.verb === 'decline' ? 'declined' : 'cancelled';
        if (call.verb !== 'accept' && of.status === end) return end;
        if (!isOpen) return 'already_ended';
        if (of.status === 'verifying') return 'illegal_transition';
        if (isCharging(of)) return 'payment_in_progress';
        if (call.verb !== 'accept') return moveTo(end);
        if (of.what !== 'authorization') return 'illegal_transition';
        if (!isWithin(of.scopes, call.agreedScopes)) return 'request_changed';
        return moveTo('active', digestOf(call.begins));
      }
      case 'approve':
        if (!approved.includes(of.what)) return 'illegal_transition';
        if (!call.isShown) return 'request_changed';
        if (of.status === 'completed' || isCharging(of)) return of.status;
        if (!isOpen) return 'already_ended';
        return of.what === 'payment' ? moveTo('active', DRAWN) : moveTo('completed');
      case 'beginCheck':
        if (!checked.includes(of.what)) return 'illegal_transition';
        if (of.status === 'completed') return of.status;
        return isOpen ? moveTo('active', digestOf(call.begins)) : 'already_ended';
      case 'submit':
        if (!typed.includes(of.what)) return 'illegal_transition';
        if (!call.isShown) return 'request_changed';
        if (of.status === 'completed') return of.status;
        if (!isOpen) return 'already_ended';
        if (call.attempt !== undefined && call.attempt !== of.attempt) return 'illegal_transition';
        return moveTo('completed');
      case 'redeem':
        if (of.status !== 'completed' || !once.includes(of.what)) return 'not_redeemable';
        if (of.redemption !== undefined && of.redemption !== call.redemption) return 'already_redeemed';
        of.redemption = call.redemption;
        return 'redeemed';
      case 'settle': {
        if (of.what !== 'payment' && of.what !== 'approval') return 'illegal_transition';
        if (!isCharging(of) || of.attempt !== call.attempt) return of.status;
        const { settlement } = call;
        if (settlement.result === 'paid') return move('completed');
        if (settlement.result === 'refused' && of.charge !== undefined) return of.status;
        if (settlement.result !== 'closed') return move('failed');
        if (settlement.as === 'decline') return move('declined');
        if (settlement.as === 'cancel') return move('cancelled');
        return move(isOver ? 'expired' : 'pending');
      }
      default:
        if (!isOpen) return 'already_ended';
        if (of.attempt === undefined || of.attempt !== call.attempt) return 'illegal_transition';
        return this.#answer(call, of, moveTo);
    }
  }

  /** Answers with the attempt in progress. */
  #answer(
    call: Extract<Call, { verb: 'recordCharge' | 'retry' | 'hold' | 'fail' | 'complete' }>,
    of: Known,
    moveTo: (status: ElicitationStatus, attempt?: string) => string,
  ): string {
    if (call.verb === 'recordCharge') {
      if (!isCharging(of) || (of.charge ?? call.reference) !== call.reference) return 'illegal_transition';
      of.charge = call.reference;
      return of.status;
    }
    if (call.verb === 'retry' && isCharging(of)) return 'payment_in_progress';
    if (call.verb !== 'retry' && of.what !== 'authorization') return 'illegal_transition';
    if (call.verb === 'fail') return moveTo('failed');
    if (call.verb === 'complete') return call.connectionOf === call.id ? moveTo('completed') : 'TypeError';
    if (of.status === 'verifying') return 'illegal_transition';
    return call.verb === 'hold' ? moveTo('verifying', digestOf(call.begins)) : moveTo('pending');
  }
}
