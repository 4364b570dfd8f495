import {
  applyTransition,
  assertTransition,
  type Clock,
  type ConnectionId,
  type CreateElicitation,
  type CreateResult,
  type CredentialId,
  DomainError,
  definedOnly,
  type Elicitation,
  type ElicitationEvent,
  type ElicitationId,
  type ElicitationStore,
  eventOf,
  isCharging,
  isRedeemable,
  isSameSubject,
  isTerminal,
  isUnredeemed,
  type ListEntry,
  type OverQuota,
  paymentPutBy,
  providerAsked,
  type RedeemElicitation,
  type RedeemResult,
  type SeenAnswer,
  type Shard,
  type Subject,
  shardIn,
  shareOf,
  type TerminalElicitation,
  type TransitionElicitation,
  type TransitionResult,
  timingOf,
  voucherOf,
} from '@postern/elicitation';
import type { MemoryConnectionStore } from './memory-connection-store.ts';
import type { MemoryCredentialStore } from './memory-credential-store.ts';
import type { MemoryEventOutbox } from './memory-event-outbox.ts';
import type { MemoryIdempotencyStore } from './memory-idempotency-store.ts';
import type { Charge, MemoryLedger } from './memory-ledger.ts';
import type { MemoryMuteStore } from './memory-mute-store.ts';
import type { MemoryNotifier } from './memory-notifier.ts';
import { type MemoryOneTimeStore, SPENT_MS } from './memory-one-time-store.ts';
import type { MemoryPaymentStore } from './memory-payment-store.ts';

interface Row {
  elicitation: Elicitation;
  readonly coalescingDigest: string;
  readonly createdBy: string;
  movedBy?: string;
  keepUntil: number;
  /** Due time, if it was postponed. */
  dueAt?: number;
  sealedResult?: string;
  redemption?: string;
}

export interface MemoryElicitationStoreDeps {
  readonly now: Clock;
  readonly retentionMs: number;
  readonly paymentRetentionMs: number;
  readonly notifier: MemoryNotifier;
  readonly connections: MemoryConnectionStore;
  readonly credentials: MemoryCredentialStore;
  readonly oneTime: MemoryOneTimeStore;
  readonly payments: MemoryPaymentStore;
  readonly outbox: MemoryEventOutbox;
  readonly ledger: MemoryLedger;
  readonly idempotency: MemoryIdempotencyStore;
  readonly mutes: MemoryMuteStore;
}

/** Charged in addition to the text of a record. The second value also covers growth that is never refused. */
const RECORD_BYTES = 1_280;
const RESERVED_BYTES = 2_048;
/** Charged in addition to the text of a connection or credential. */
const ANSWER_BYTES = 1_024;

/** Maximum number of ended elicitations listed for one user. */
const LISTED = 100;

/** The elicitation port in one process. Atomic, because no verb awaits anything. */
export class MemoryElicitationStore implements ElicitationStore {
  /** Events so far, oldest first. */
  readonly events: ElicitationEvent[] = [];
  readonly #deps: MemoryElicitationStoreDeps;
  readonly #rows = new Map<ElicitationId, Row>();
  /** The newest elicitation of each request. */
  readonly #open = new Map<string, ElicitationId>();
  readonly #limits = new Map<string, { count: number; readonly endsAt: number }>();

  constructor(deps: MemoryElicitationStoreDeps) {
    this.#deps = deps;
  }

  async create(request: CreateElicitation): Promise<CreateResult> {
    const now = this.#deps.now();
    const { elicitation, seen, coalescingDigest, subjectLimit, idempotencyKey } = request;
    const { elicitationId } = elicitation;

    const earlier = idempotencyKey && this.#deps.idempotency.find(idempotencyKey);
    if (earlier) {
      const { fingerprint, answer } = earlier;
      if (fingerprint !== idempotencyKey.fingerprint) return { result: 'key_reused' };
      if (typeof answer === 'string') return { result: 'replayed', response: answer };
      return { result: answer.elicitationId === elicitationId ? 'created' : 'repeated', elicitation: answer };
    }

    const made = this.#row(elicitationId);
    if (made) {
      if (made.createdBy === request.operationId) return { result: 'created', elicitation: made.elicitation };
      throw new DomainError('contention', 'The elicitation id belongs to another operation.');
    }

    const answer = this.#answerOf(request);
    if (answer) return answer;

    const open = this.#open.get(coalescingDigest);
    const other = open === undefined ? undefined : this.#row(open)?.elicitation;
    if (other && isMet(other, now) && other.elicitationId !== seen.openId)
      return { result: 'open', elicitationId: other.elicitationId };

    if (this.#deps.mutes.isMuted(elicitation.subject, elicitation.mcpServerId)) return { result: 'muted' };

    const { issuer, subject } = elicitation.subject;
    const limitKey = JSON.stringify([elicitation.mcpServerId, issuer, subject]);
    const found = this.#limits.get(limitKey);
    const window = found && found.endsAt > now ? found : { count: 0, endsAt: now + subjectLimit.windowMs };
    if (window.count >= subjectLimit.max) return { result: 'limited', retryAfterMs: window.endsAt - now };

    const openNow = this.#openOf(elicitation.subject, [elicitation.mcpServerId]).map(({ expiresAt }) => expiresAt);
    if (openNow.length >= request.openMax) return { result: 'crowded', retryAfterMs: Math.min(...openNow) - now };

    const expiresAt = now + request.ttlMs;
    const shard = shardIn(elicitationId);
    const endsAt = expiresAt + this.#deps.retentionMs;
    const charges: Charge[] = [{ id: elicitationId, endsAt, bytes: sizeOf(elicitation) + RESERVED_BYTES }];
    if (idempotencyKey) charges.push(this.#deps.idempotency.chargeFor(idempotencyKey));
    const answered = { owner: elicitation.mcpServerId, id: request.answeredBy ?? '', bytes: ANSWER_BYTES };
    const overQuota =
      (request.answeredBy !== undefined && seen.answer === undefined
        ? this.#deps.ledger.refuseLasting(shard, elicitation.mcpServerId, answered, shareOf(request.quota))
        : undefined) ?? this.#deps.ledger.admit(shard, elicitation.mcpServerId, charges, request.quota);
    if (overQuota) return overQuota;
    this.#limits.set(limitKey, { count: window.count + 1, endsAt: window.endsAt });
    const created: Elicitation = {
      ...elicitation,
      version: 1,
      status: 'pending',
      createdAt: now,
      expiresAt,
    };
    this.#rows.set(elicitationId, {
      elicitation: created,
      coalescingDigest,
      createdBy: request.operationId,
      keepUntil: endsAt,
    });
    this.#open.set(coalescingDigest, elicitationId);
    if (idempotencyKey) this.#deps.idempotency.set(idempotencyKey, created);
    this.#announce(created);
    return { result: 'created', elicitation: created };
  }

  async read(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    return this.#row(elicitationId)?.elicitation;
  }

  async transition(request: TransitionElicitation): Promise<TransitionResult> {
    const now = this.#deps.now();
    const { current, putOneTime, putConnection, putCredential, putResult } = request;
    assertTransition(request);

    const row = this.#row(current.elicitationId);
    if (!row) return { result: 'missing' };
    const stored = row.elicitation;
    if (row.movedBy === request.operationId) return { result: 'applied', elicitation: stored };
    if (stored.version !== current.version) return { result: 'conflict', current: stored };
    const timing = timingOf({ ...request, current: stored });
    if (timing !== 'any' && (timing === 'late') !== now >= stored.expiresAt)
      return { result: 'untimely', current: stored };

    const expiresAt = Math.min(stored.expiresAt, now + (request.expiresWithinMs ?? Number.POSITIVE_INFINITY));
    const moved = applyTransition(request, { now, expiresAt });
    const overLimit = this.#count(request);
    if (overLimit) return overLimit;
    const overQuota = this.#charge(request, moved, now);
    if (overQuota) return overQuota;
    row.elicitation = moved;
    row.movedBy = request.operationId;
    row.keepUntil = this.#keptUntil(moved, now);
    delete row.dueAt;
    if (putResult) row.sealedResult = putResult.sealed;
    if (putOneTime)
      this.#deps.oneTime.put(shardIn(moved.elicitationId), putOneTime.record, putOneTime.ttlMs, attemptOf(stored));
    if (putConnection) this.#deps.connections.put(putConnection, now);
    const paid = paymentPutBy(request);
    if (paid !== undefined) this.#deps.payments.putCompleting(moved, paid);
    if (putCredential) this.#deps.credentials.put(putCredential, now);
    this.#announce(moved);
    return { result: 'applied', elicitation: moved };
  }

  async redeem({ elicitationId, redemption }: RedeemElicitation): Promise<RedeemResult> {
    const row = this.#row(elicitationId);
    if (!row) return { result: 'missing' };
    const { elicitation } = row;
    if (elicitation.status !== 'completed' || !isRedeemable(elicitation.request))
      return { result: 'unredeemable', elicitation };
    const isFirst = row.redemption === undefined;
    if (!isFirst && row.redemption !== redemption) return { result: 'spent', elicitation };
    const redeemed = isFirst ? { ...elicitation, redeemedAt: this.#deps.now() } : elicitation;
    row.redemption = redemption;
    row.elicitation = redeemed;
    const sealed = row.sealedResult === undefined ? {} : { sealed: row.sealedResult };
    return { result: 'redeemed', elicitation: redeemed, ...sealed, isFirst };
  }

  async due(shard: Shard, limit: number): Promise<readonly ElicitationId[]> {
    const now = this.#deps.now();
    return [...this.#rows.values()]
      .filter(row => row.keepUntil > now && shardIn(row.elicitation.elicitationId) === shard)
      .filter(row => !isTerminal(row.elicitation) && dueAt(row) <= now)
      .sort((a, b) => dueAt(a) - dueAt(b))
      .slice(0, limit)
      .map(({ elicitation }) => elicitation.elicitationId);
  }

  async postpone(elicitationId: ElicitationId, delayMs: number): Promise<void> {
    const row = this.#row(elicitationId);
    if (row && isCharging(row.elicitation)) row.dueAt = this.#deps.now() + delayMs;
  }

  async listOpen(subject: Subject, mcpServerIds: readonly string[]): Promise<readonly Elicitation[]> {
    return this.#openOf(subject, mcpServerIds).sort(
      (a, b) => a.createdAt - b.createdAt || (a.elicitationId < b.elicitationId ? -1 : 1),
    );
  }

  #openOf(subject: Subject, mcpServerIds: readonly string[]): Elicitation[] {
    const now = this.#deps.now();
    return [...this.#rows.values()]
      .map(row => row.elicitation)
      .filter(elicitation => isSameSubject(elicitation.subject, subject))
      .filter(elicitation => mcpServerIds.includes(elicitation.mcpServerId))
      .filter(elicitation => !isTerminal(elicitation) && elicitation.expiresAt > now);
  }

  async listEnded(subject: Subject, voucher?: string): Promise<readonly TerminalElicitation[]> {
    const now = this.#deps.now();
    return [...this.#rows.values()]
      .filter(row => row.keepUntil > now)
      .map(row => row.elicitation)
      .filter(elicitation => isSameSubject(elicitation.subject, subject) && voucherOf(elicitation) === voucher)
      .filter(elicitation => isTerminal(elicitation))
      .filter(({ status }) => status !== 'cancelled' && status !== 'expired')
      .sort((a, b) => b.endedAt - a.endedAt || (a.elicitationId < b.elicitationId ? 1 : -1))
      .slice(0, LISTED);
  }

  /** The open or the ended elicitations, for the lists of operators. */
  entries(list: 'open' | 'ended'): readonly ListEntry[] {
    const now = this.#deps.now();
    return [...this.#rows]
      .filter(([, { elicitation, keepUntil }]) => keepUntil > now && isTerminal(elicitation) === (list === 'ended'))
      .map(([id, row]) => ({ id, at: isTerminal(row.elicitation) ? row.elicitation.endedAt : dueAt(row) }));
  }

  #row(elicitationId: ElicitationId): Row | undefined {
    const row = this.#rows.get(elicitationId);
    return row && row.keepUntil > this.#deps.now() ? row : undefined;
  }

  /** Reported before any open elicitation, unless the caller has seen it. */
  #answerOf({ answeredBy, seen }: CreateElicitation): CreateResult | undefined {
    if (answeredBy === undefined) return undefined;
    if (isConnectionId(answeredBy)) {
      const connection = this.#deps.connections.get(answeredBy);
      return connection && !isSeen(connection, seen.answer) ? { result: 'existing_connection', connection } : undefined;
    }
    const credential = this.#deps.credentials.get(answeredBy);
    return credential && !isSeen(credential, seen.answer) ? { result: 'existing_credential', credential } : undefined;
  }

  /** The user may have paid, so the elicitation is kept until the payment status is known. */
  #keptUntil(elicitation: Elicitation, now: number): number {
    if (isCharging(elicitation)) return Number.POSITIVE_INFINITY;
    return (isTerminal(elicitation) ? now : Math.max(elicitation.expiresAt, now)) + this.#deps.retentionMs;
  }

  #charge(request: TransitionElicitation, moved: Elicitation, now: number): OverQuota | undefined {
    const { ledger, paymentRetentionMs } = this.#deps;
    const { elicitationId, mcpServerId } = moved;
    const { putOneTime, putResult } = request;
    const shard = shardIn(elicitationId);
    const before = ledger.bytesOf(shard, mcpServerId, elicitationId);
    const bytes = RECORD_BYTES + sizeOf(moved) + sizeOf(putResult);
    const lasting = lastingOf(request);
    const hasGrown = lasting !== undefined && lasting.bytes > ledger.bytesOf(shard, lasting.owner, lasting.id);
    const refused = lasting && ledger.refuseLasting(shard, mcpServerId, lasting);
    if (refused) return refused;
    const endsAt = isCharging(moved) ? now + paymentRetentionMs : this.#keptUntil(moved, now);
    const charges: Charge[] = [{ id: elicitationId, endsAt, bytes: Math.max(bytes, before) }];
    const former = attemptOf(request.current);
    if (putOneTime && former !== undefined) ledger.release(shard, mcpServerId, former);
    if (putOneTime) {
      const { digest } = putOneTime.record;
      charges.push({ id: digest, endsAt: now + putOneTime.ttlMs + SPENT_MS, bytes: sizeOf(putOneTime.record) });
    }
    const paid = paymentPutBy(request);
    if (paid !== undefined)
      charges.push({
        id: `${elicitationId} ${paid.processorReference}`,
        endsAt: now + paymentRetentionMs,
        bytes: 512 + sizeOf(paid),
      });
    const isGrowing = moved.request.kind !== 'payment' && before > 0 && bytes > before;
    const isAdding = putOneTime !== undefined || putResult !== undefined || hasGrown || isGrowing;
    const overQuota = ledger.charge(shard, mcpServerId, charges, isAdding);
    if (!overQuota && lasting) ledger.charge(shard, lasting.owner, [{ ...lasting, endsAt: Infinity }], false);
    return overQuota;
  }

  /** Transitions of payments are never refused for the quota, so an amount counted here is committed. */
  #count({ current, next, countWithin }: TransitionElicitation): TransitionResult | undefined {
    const { elicitationId, request, mcpServerId, subject } = current;
    if (request.kind !== 'payment') return undefined;
    const { currency, minorUnits } = request.terms.amount;
    const of = { mcpServerId, subject, currency };
    if (countWithin !== undefined) {
      const spent = this.#deps.payments.count(of, { elicitationId, minorUnits }, countWithin);
      return spent === undefined ? undefined : { result: 'over_daily_limit', spent };
    }
    const isPaidOrMayBe = next.status === 'completed' || (next.status === 'active' && next.approval !== undefined);
    if (isCharging(current) && !isPaidOrMayBe) this.#deps.payments.release(of, elicitationId);
    return undefined;
  }

  #announce(elicitation: Elicitation): void {
    const event = eventOf(elicitation);
    this.events.push(event);
    const { request, version, createdAt } = elicitation;
    this.#deps.outbox.append(event, {
      ...definedOnly({ provider: providerAsked(request) }),
      ...(version === 1 ? {} : { tookMs: this.#deps.now() - createdAt }),
    });
    this.#deps.notifier.wake(elicitation.elicitationId);
  }
}

/** The charge of the connection or credential that a transition stores. */
function lastingOf({ putConnection, putCredential }: TransitionElicitation) {
  const put = putConnection ?? putCredential;
  if (put === undefined) return undefined;
  const id = putConnection?.connectionId ?? putCredential?.credentialId ?? '';
  return { owner: put.owner, id, bytes: ANSWER_BYTES + sizeOf(put) };
}

/** The attempt that a new one replaces. */
const attemptOf = (elicitation: Elicitation) => ('attempt' in elicitation ? elicitation.attempt : undefined);

const sizeOf = (stored: unknown) => Buffer.byteLength(JSON.stringify(stored) ?? '');

function isSeen(answer: SeenAnswer, seen: SeenAnswer | undefined): boolean {
  return answer.createdAt === seen?.createdAt && answer.generation === seen.generation;
}

function isConnectionId(id: ConnectionId | CredentialId): id is ConnectionId {
  return id.startsWith('cn_');
}

/** Whether a repeated request returns this elicitation instead of a new one. */
function isMet(elicitation: Elicitation, now: number): boolean {
  if (isTerminal(elicitation)) return isUnredeemed(elicitation);
  return elicitation.expiresAt > now || isCharging(elicitation);
}

function dueAt({ elicitation, dueAt }: Row): number {
  return Math.max(elicitation.expiresAt, dueAt ?? 0);
}
