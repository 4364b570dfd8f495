import {
  assertTransition,
  type CreateElicitation,
  type CreateResult,
  committed,
  DomainError,
  type Elicitation,
  type ElicitationId,
  type ElicitationStore,
  type NewElicitation,
  type NextElicitation,
  newOperationId,
  paymentIn,
  type RecordLayout,
  type RedeemElicitation,
  type RedeemResult,
  type Shard,
  type Subject,
  shardIn,
  shardOf,
  systemEntropy,
  type TransitionElicitation,
  type TransitionResult,
  timingOf,
} from '@postern/elicitation';
import type { CommittedEvents } from './committed-events.ts';
import { ELICITATION_FIELDS, elicitationIdOf, elicitationOf } from './elicitation-reply.ts';
import { askOf, type Keys } from './keys.ts';
import { answeredWith, answerKeyOf, answerPutBy } from './lasting-answers.ts';
import { isEnd, leftBy } from './move-facts.ts';
import { encodeElicitation } from './records/elicitation-record.ts';
import { encodeOneTime } from './records/one-time-record.ts';
import { recordFields } from './records/record-fields.ts';
import { layoutNamedIn, unreadable } from './records/record-layout.ts';
import { decodeResult, encodeResult } from './records/result-record.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, numberOf, textOf } from './reply.ts';
import { shareText } from './share-text.ts';

export interface ElicitationStoreOptions {
  readonly retentionMs: number;
  /** How long a payment is remembered. */
  readonly paymentRetentionMs: number;
  readonly eventsPerShard: number;
  /** Of what is written; every layout of this release is read. */
  readonly recordLayout: RecordLayout;
  /** Learns the id of every event that is committed. */
  readonly committed: CommittedEvents;
}

/** As many open elicitations of one person as are listed. */
const LISTED = 100;

export class RedisElicitationStore implements ElicitationStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;
  readonly #options: ElicitationStoreOptions;

  constructor(link: RedisLink, keys: Keys, options: ElicitationStoreOptions) {
    this.#link = link;
    this.#keys = keys;
    this.#options = options;
  }

  async create(request: CreateElicitation): Promise<CreateResult> {
    const { elicitation, seen, subjectLimit } = request;
    const { elicitationId, mcpServerId } = elicitation;
    const shard = shardIn(elicitationId);
    const reply = await this.#link.run(
      'createElicitation',
      [
        this.#keys.elicitation(elicitationId),
        this.#keys.open(shard),
        this.#keys.due(shard),
        answerKeyOf(this.#keys, shard, request.answeredBy),
        this.#keys.subjectLimit(shard, mcpServerId, elicitation.subject),
        this.#keys.events(shard),
        this.#keys.openOf(shard, elicitation.subject),
        this.#keys.held(shard),
        this.#keys.ledger(shard, mcpServerId),
      ],
      [
        this.#link.clock(),
        elicitationId,
        request.operationId,
        request.ttlMs,
        this.#options.retentionMs,
        askOf(request.coalescingDigest),
        seen.openId ?? '',
        seen.answer === undefined ? '' : `${seen.answer.createdAt} ${seen.answer.generation}`,
        subjectLimit.max,
        subjectLimit.windowMs,
        mcpServerId,
        elicitation.request.kind,
        this.#options.eventsPerShard,
        this.#keys.wake,
        LISTED,
        shareText(request.quota),
        ...this.#recordOf(elicitation, { status: 'pending' }),
      ],
      { repeatable: true },
    );
    const [result, ...rest] = listOf(reply);
    switch (result) {
      case 'created': {
        this.#options.committed.note(shard, textOf(rest[2]));
        const times = { createdAt: numberOf(rest[0]), expiresAt: numberOf(rest[1]) };
        return {
          result,
          elicitation: { ...elicitation, ...times, layout: this.#options.recordLayout, version: 1, status: 'pending' },
        };
      }
      case 'repeated':
        return { result: 'created', elicitation: elicitationOf(elicitationId, rest) };
      case 'open':
        return { result, elicitationId: elicitationIdOf(rest[0]) };
      case 'answered':
        return answeredWith(request.answeredBy, rest);
      case 'limited':
      case 'over_quota':
        return { result, retryAfterMs: numberOf(rest[0]) };
      case 'taken':
        throw new DomainError('contention', 'The elicitation id belongs to another operation.');
      default:
        throw unknownResult();
    }
  }

  async read(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    const key = this.#keys.elicitation(elicitationId);
    const reply = await this.#link.callFor('readElicitation', 'hmget', key, ...ELICITATION_FIELDS);
    const found = listOf(reply);
    return isAbsent(found[0]) ? undefined : elicitationOf(elicitationId, found);
  }

  async transition(request: TransitionElicitation): Promise<TransitionResult> {
    const { current, next, putOneTime, putResult, expiresWithinMs } = request;
    assertTransition(request);
    const left = leftBy(request);
    const { elicitationId } = current;
    const shard = shardIn(elicitationId);
    const none = this.#keys.none(shard);
    const answer = answerPutBy(this.#keys, shard, request);
    const paidBy = paymentIn(next);
    const reply = await this.#link.run(
      'transitionElicitation',
      [
        this.#keys.elicitation(elicitationId),
        this.#keys.open(shard),
        this.#keys.due(shard),
        this.#keys.events(shard),
        putOneTime ? this.#keys.oneTime(shard, putOneTime.record.digest) : none,
        answer?.key ?? none,
        answer?.index ?? none,
        this.#keys.openOf(shard, current.subject),
        putResult ? this.#keys.result(elicitationId) : none,
        this.#keys.held(shard),
        paidBy === undefined ? none : this.#keys.payments(elicitationId),
        this.#keys.ledger(shard, current.mcpServerId),
      ],
      [
        this.#link.clock(),
        elicitationId,
        request.operationId,
        current.version,
        timingOf(request),
        next.status,
        left,
        this.#options.retentionMs,
        current.mcpServerId,
        current.request.kind,
        this.#options.eventsPerShard,
        this.#keys.wake,
        putOneTime?.ttlMs ?? '',
        putOneTime ? encodeOneTime(putOneTime.record) : '',
        putOneTime?.record.sealed ?? '',
        answer?.id ?? '',
        answer?.record ?? '',
        expiresWithinMs ?? '',
        putResult ? encodeResult(current, putResult.sealed) : '',
        paidBy ?? '',
        this.#options.paymentRetentionMs,
        ...this.#recordOf(current, next),
      ],
      { repeatable: true },
    );
    const [result, ...rest] = listOf(reply);
    switch (result) {
      case 'applied': {
        this.#options.committed.note(shard, textOf(rest[2]));
        const times = { now: numberOf(rest[0]), expiresAt: numberOf(rest[1]) };
        return { result, elicitation: { ...committed(request, times), layout: this.#options.recordLayout } };
      }
      case 'repeated':
        return { result: 'applied', elicitation: elicitationOf(elicitationId, rest) };
      case 'conflict':
      case 'untimely':
        return { result, current: elicitationOf(elicitationId, rest) };
      case 'missing':
        return { result };
      case 'over_quota':
        return { result, retryAfterMs: numberOf(rest[0]) };
      case 'unreadable':
        throw unreadable(layoutNamedIn(textOf(rest[0])));
      default:
        throw unknownResult();
    }
  }

  async redeem({ elicitationId, redemption }: RedeemElicitation): Promise<RedeemResult> {
    const shard = shardIn(elicitationId);
    const reply = await this.#link.run(
      'redeemElicitation',
      [
        this.#keys.elicitation(elicitationId),
        this.#keys.result(elicitationId),
        this.#keys.open(shard),
        this.#keys.held(shard),
      ],
      // The call has a name of its own: its repeat after a lost answer is told that it was the first.
      [this.#link.clock(), elicitationId, redemption, newOperationId(systemEntropy), this.#options.retentionMs],
      { repeatable: true },
    );
    const [result, ...rest] = listOf(reply);
    switch (result) {
      case 'redeemed': {
        const [isFirst, ...found] = rest;
        const sealed = found[ELICITATION_FIELDS.length];
        return {
          result,
          elicitation: completedOf(elicitationId, found),
          ...(isAbsent(sealed) ? {} : { sealed: decodeResult(textOf(sealed)) }),
          isFirst: isFirst === '1',
        };
      }
      case 'spent':
        return { result, elicitation: completedOf(elicitationId, rest) };
      case 'unredeemable':
        return { result, elicitation: elicitationOf(elicitationId, rest) };
      case 'missing':
        return { result };
      case 'unreadable':
        throw unreadable(layoutNamedIn(textOf(rest[0])));
      default:
        throw unknownResult();
    }
  }

  async due(shard: Shard, limit: number): Promise<readonly ElicitationId[]> {
    const reply = await this.#link.run(
      'dueElicitations',
      [this.#keys.due(shard), this.#keys.open(shard), this.#keys.held(shard)],
      [this.#link.clock(), limit, this.#options.retentionMs],
    );
    return listOf(reply).map(elicitationIdOf);
  }

  async postpone(elicitationId: ElicitationId, delayMs: number): Promise<void> {
    const shard = shardIn(elicitationId);
    await this.#link.run(
      'postponeElicitation',
      [this.#keys.elicitation(elicitationId), this.#keys.due(shard), this.#keys.held(shard)],
      [this.#link.clock(), elicitationId, delayMs],
      { repeatable: true },
    );
  }

  async listOpen(subject: Subject): Promise<readonly Elicitation[]> {
    const index = this.#keys.openOf(shardOf(subject), subject);
    const reply = await this.#link.run('openElicitations', [index], [this.#link.clock()]);
    const [now, ...ids] = listOf(reply);
    const found = await Promise.all(ids.map(id => this.read(elicitationIdOf(id))));
    // What ended between both reads, and what the index does not know to be over, is left out by the records themselves.
    return found
      .filter(elicitation => elicitation !== undefined)
      .filter(elicitation => !isEnd(elicitation.status) && elicitation.expiresAt > numberOf(now))
      .sort((a, b) => a.createdAt - b.createdAt || (a.elicitationId < b.elicitationId ? -1 : 1));
  }

  #recordOf(of: NewElicitation | Elicitation, next: NextElicitation | { status: 'pending' }): readonly string[] {
    const { recordLayout } = this.#options;
    return recordFields(encodeElicitation(of, next, recordLayout), recordLayout);
  }
}

function completedOf(elicitationId: ElicitationId, found: readonly unknown[]) {
  const elicitation = elicitationOf(elicitationId, found);
  if (elicitation.status !== 'completed') throw unknownResult();
  return elicitation;
}

const unknownResult = () => new TypeError('A script answered with a result this release does not know.');
