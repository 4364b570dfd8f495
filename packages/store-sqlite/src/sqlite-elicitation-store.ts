import {
  applyTransition,
  assertTransition,
  type ConnectionId,
  type CreateElicitation,
  type CreateResult,
  type CredentialId,
  DomainError,
  type Elicitation,
  type ElicitationId,
  type ElicitationStore,
  eventOf,
  isCharging,
  isRedeemable,
  isTerminal,
  isUnredeemed,
  type OverQuota,
  oldestFirst,
  paymentPutBy,
  providerAsked,
  type RedeemElicitation,
  type RedeemResult,
  type SeenAnswer,
  type Shard,
  SPENT_MS,
  type Subject,
  shardIn,
  shareOf,
  type TerminalElicitation,
  type TransitionElicitation,
  type TransitionResult,
  timingOf,
  voucherOf,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import type { Charge, Ledger } from './ledger.ts';
import { isRunning, keyOf, listOf, type Place, Records, type Span } from './records.ts';
import type { SqliteConnectionStore } from './sqlite-connection-store.ts';
import type { SqliteCredentialStore } from './sqlite-credential-store.ts';
import type { SqliteEventOutbox } from './sqlite-events.ts';
import type { SqliteIdempotencyStore } from './sqlite-idempotency-store.ts';
import type { SqliteMuteStore } from './sqlite-mute-store.ts';
import type { SqliteOneTimeStore } from './sqlite-one-time-store.ts';
import type { SqlitePaymentStore } from './sqlite-payment-store.ts';

export interface ElicitationRow {
  readonly elicitation: Elicitation;
  readonly coalescingDigest: string;
  readonly createdBy: string;
  readonly movedBy?: string;
  /** Absent while the user may have paid. */
  readonly endsAt?: number;
  /** Due time, if it was postponed. */
  readonly dueAt?: number;
  readonly sealedResult?: string;
  readonly redemption?: string;
}

export interface SqliteElicitationStoreDeps {
  readonly database: Database;
  readonly retentionMs: number;
  readonly paymentRetentionMs: number;
  readonly connections: SqliteConnectionStore;
  readonly credentials: SqliteCredentialStore;
  readonly oneTime: SqliteOneTimeStore;
  readonly payments: SqlitePaymentStore;
  readonly outbox: SqliteEventOutbox;
  readonly ledger: Ledger;
  readonly idempotency: SqliteIdempotencyStore;
  readonly mutes: SqliteMuteStore;
}

/** Charged in addition to the text of a record. The second value also covers growth that is never refused. */
const RECORD_BYTES = 1_280;
const RESERVED_BYTES = 2_048;
/** Charged in addition to the text of a connection or credential. */
const ANSWER_BYTES = 1_024;

/** Maximum number of ended elicitations listed for one user. */
const LISTED = 100;

export class SqliteElicitationStore implements ElicitationStore {
  readonly #deps: SqliteElicitationStoreDeps;
  readonly #rows: Records<ElicitationRow>;
  /** The newest elicitation of each request, kept as long as that elicitation. */
  readonly #newest: Records<{ readonly elicitationId: ElicitationId; readonly endsAt?: number }>;
  readonly #limits: Records<Span & { readonly count: number }>;

  constructor(deps: SqliteElicitationStoreDeps) {
    this.#deps = deps;
    this.#rows = new Records(deps.database, 'elicitation', placeOf);
    this.#newest = new Records(deps.database, 'newest elicitation', ({ endsAt }) => ({ endsAt }));
    this.#limits = new Records(deps.database, 'subject limit', ({ endsAt }) => ({ endsAt }));
  }

  async create(request: CreateElicitation): Promise<CreateResult> {
    return this.#deps.database.commit(() => this.#create(request));
  }

  #create(request: CreateElicitation): CreateResult {
    const now = this.#deps.database.now();
    const { elicitation, seen, coalescingDigest, subjectLimit, idempotencyKey } = request;
    const { elicitationId } = elicitation;

    const earlier = idempotencyKey && this.#deps.idempotency.find(idempotencyKey);
    if (earlier) {
      const { fingerprint, answer } = earlier;
      if (fingerprint !== idempotencyKey.fingerprint) return { result: 'key_reused' };
      if (typeof answer === 'string') return { result: 'replayed', response: answer };
      return { result: answer.elicitationId === elicitationId ? 'created' : 'repeated', elicitation: answer };
    }

    const made = this.#rows.get(elicitationId);
    if (made) {
      if (made.createdBy === request.operationId) return { result: 'created', elicitation: made.elicitation };
      throw new DomainError('contention', 'The elicitation id belongs to another operation.');
    }

    const answer = this.#answerOf(request);
    if (answer) return answer;

    const open = this.#newest.get(coalescingDigest);
    const other = open && this.#rows.get(open.elicitationId)?.elicitation;
    if (other && isMet(other, now) && other.elicitationId !== seen.openId)
      return { result: 'open', elicitationId: other.elicitationId };

    if (this.#deps.mutes.isMuted(elicitation.subject, elicitation.mcpServerId)) return { result: 'muted' };

    const limitKey = keyOf(elicitation.subject, elicitation.mcpServerId);
    const kept = this.#limits.get(limitKey);
    const window =
      kept !== undefined && isRunning(kept, now) ? kept : { count: 0, from: now, endsAt: now + subjectLimit.windowMs };
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
    this.#limits.put(limitKey, { ...window, count: window.count + 1 });
    const created: Elicitation = {
      ...elicitation,
      version: 1,
      status: 'pending',
      createdAt: now,
      expiresAt,
    };
    this.#rows.put(elicitationId, { elicitation: created, coalescingDigest, createdBy: request.operationId, endsAt });
    this.#newest.put(coalescingDigest, { elicitationId, endsAt });
    if (idempotencyKey) this.#deps.idempotency.set(idempotencyKey, created);
    this.#announce(created);
    return { result: 'created', elicitation: created };
  }

  async read(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    return this.#rows.get(elicitationId)?.elicitation;
  }

  async transition(request: TransitionElicitation): Promise<TransitionResult> {
    assertTransition(request);
    return this.#deps.database.commit(() => this.#transition(request));
  }

  #transition(request: TransitionElicitation): TransitionResult {
    const now = this.#deps.database.now();
    const { current, putOneTime, putConnection, putCredential, putResult } = request;
    const row = this.#rows.get(current.elicitationId);
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
    const { dueAt: _, endsAt: __, ...kept } = row;
    this.#put({
      ...kept,
      elicitation: moved,
      movedBy: request.operationId,
      endsAt: this.#keptUntil(moved, now),
      ...(putResult && { sealedResult: putResult.sealed }),
    });
    if (putOneTime)
      this.#deps.oneTime.put(shardIn(moved.elicitationId), { ...putOneTime, replaced: attemptOf(stored) });
    if (putConnection) this.#deps.connections.put(putConnection, now);
    const paid = paymentPutBy(request);
    if (paid !== undefined) this.#deps.payments.putCompleting(moved, paid);
    if (putCredential) this.#deps.credentials.put(putCredential, now);
    this.#announce(moved);
    return { result: 'applied', elicitation: moved };
  }

  async redeem(request: RedeemElicitation): Promise<RedeemResult> {
    return this.#deps.database.commit(() => this.#redeem(request));
  }

  #redeem({ elicitationId, redemption }: RedeemElicitation): RedeemResult {
    const row = this.#rows.get(elicitationId);
    if (!row) return { result: 'missing' };
    const { elicitation } = row;
    if (elicitation.status !== 'completed' || !isRedeemable(elicitation.request))
      return { result: 'unredeemable', elicitation };
    const isFirst = row.redemption === undefined;
    if (!isFirst && row.redemption !== redemption) return { result: 'spent', elicitation };
    const redeemed = isFirst ? { ...elicitation, redeemedAt: this.#deps.database.now() } : elicitation;
    if (isFirst) this.#rows.put(elicitationId, { ...row, redemption, elicitation: redeemed });
    const sealed = row.sealedResult === undefined ? {} : { sealed: row.sealedResult };
    return { result: 'redeemed', elicitation: redeemed, ...sealed, isFirst };
  }

  async due(shard: Shard, limit: number): Promise<readonly ElicitationId[]> {
    return this.#rows.due(listOf('open', shard), limit).map(({ elicitation }) => elicitation.elicitationId);
  }

  async postpone(elicitationId: ElicitationId, delayMs: number): Promise<void> {
    this.#deps.database.commit(() => {
      const row = this.#rows.get(elicitationId);
      if (row && isCharging(row.elicitation))
        this.#rows.put(elicitationId, { ...row, dueAt: this.#deps.database.now() + delayMs });
    });
  }

  async listOpen(subject: Subject, mcpServerIds: readonly string[]): Promise<readonly Elicitation[]> {
    return this.#openOf(subject, mcpServerIds).sort(
      oldestFirst(({ elicitationId: id, createdAt: at }) => ({ id, at })),
    );
  }

  #openOf(subject: Subject, mcpServerIds: readonly string[]): Elicitation[] {
    const now = this.#deps.database.now();
    return [...new Set(mcpServerIds)]
      .flatMap(mcpServerId => this.#rows.of(openKey(subject, mcpServerId), { after: now }))
      .map(row => row.elicitation)
      .filter(({ expiresAt }) => expiresAt > now);
  }

  async listEnded(subject: Subject, voucher?: string): Promise<readonly TerminalElicitation[]> {
    return this.#rows
      .newestOf(endedKey(subject, voucher), { limit: LISTED })
      .map(row => row.elicitation)
      .filter(elicitation => isTerminal(elicitation))
      .sort((a, b) => b.endedAt - a.endedAt || (a.elicitationId < b.elicitationId ? 1 : -1));
  }

  /** Called within the commit of a transition. */
  #put(row: ElicitationRow): void {
    const { elicitation, coalescingDigest, endsAt } = row;
    const { elicitationId } = elicitation;
    this.#rows.put(elicitationId, row);
    if (this.#newest.get(coalescingDigest)?.elicitationId === elicitationId)
      this.#newest.put(coalescingDigest, { elicitationId, endsAt });
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
  #keptUntil(elicitation: Elicitation, now: number): number | undefined {
    if (isCharging(elicitation)) return undefined;
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
    const endsAt = this.#keptUntil(moved, now) ?? now + paymentRetentionMs;
    const charges: Charge[] = [{ id: elicitationId, endsAt, bytes: Math.max(bytes, before) }];
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
    const replaced = putOneTime && attemptOf(request.current);
    const overQuota = ledger.charge(shard, mcpServerId, charges, isAdding, replaced);
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
    const { request, version, createdAt } = elicitation;
    this.#deps.outbox.append(event, {
      provider: providerAsked(request),
      ...(version === 1 ? {} : { tookMs: this.#deps.database.now() - createdAt }),
    });
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

const openKey = (subject: Subject, mcpServerId: string) => keyOf(subject, 'open', mcpServerId);
const endedKey = (subject: Subject, voucher: string | undefined) => keyOf(subject, 'ended', voucher);

/** Of the ended ones, a user sees those that they ended themselves. */
function placeOf({ elicitation, dueAt = 0, endsAt }: ElicitationRow): Place {
  const { elicitationId, subject, mcpServerId, status } = elicitation;
  const shard = shardIn(elicitationId);
  if (!isTerminal(elicitation)) {
    const rank = Math.max(elicitation.expiresAt, dueAt);
    return { endsAt, rank, list: listOf('open', shard), whose: openKey(subject, mcpServerId) };
  }
  const isByUser = status !== 'cancelled' && status !== 'expired';
  const whose = isByUser ? endedKey(subject, voucherOf(elicitation)) : undefined;
  return { endsAt, rank: elicitation.endedAt, list: listOf('ended', shard), whose };
}
