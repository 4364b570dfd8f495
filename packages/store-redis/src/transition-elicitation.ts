import {
  applyTransition,
  assertTransition,
  isCharging,
  isRedeemable,
  paymentPutBy,
  providerAsked,
  type Shard,
  shardIn,
  type TransitionElicitation,
  type TransitionResult,
  timingOf,
  voucherOf,
} from '@postern/elicitation';
import type { ElicitationScripts } from './create-elicitation.ts';
import type { Keys } from './keys.ts';
import { encodeConnection } from './records/connection-record.ts';
import { encodeCredential } from './records/credential-record.ts';
import { elicitationOf, encodeElicitation, recordFields } from './records/elicitation-record.ts';
import { encodePayment } from './records/payment-record.ts';
import { layoutNamedIn, unreadable } from './records/record-layout.ts';
import { encodeResult } from './records/result-record.ts';
import { encodeOneTime } from './redis-one-time-store.ts';
import { listOf, numberOf, textOf, unknownResult } from './reply.ts';

/** Calls `commands/transition-elicitation.lua`. */
export async function transitionElicitation(
  scripts: ElicitationScripts,
  request: TransitionElicitation,
): Promise<TransitionResult> {
  const { link, keys } = scripts;
  const { current, next, putOneTime, putResult, expiresWithinMs } = request;
  assertTransition(request);
  const { elicitationId } = current;
  const shard = shardIn(elicitationId);
  const none = keys.none(shard);
  const answer = answerPutBy(keys, shard, request);
  const paid = paymentPutBy(request);
  const counted = countedBy(request);
  const reply = await link.run(
    'transitionElicitation',
    {
      elicitation: keys.elicitation(elicitationId),
      open: keys.open(shard),
      due: keys.due(shard),
      events: keys.events(shard),
      oneTime: putOneTime ? keys.oneTime(shard, putOneTime.record.digest) : none,
      answer: answer?.key ?? none,
      answersOf: answer?.index ?? none,
      openOf: keys.openOf(shard, current.mcpServerId, current.subject),
      result: putResult ? keys.result(elicitationId) : none,
      held: keys.held(shard),
      payments: paid === undefined ? none : keys.payments(elicitationId),
      ledger: keys.ledger(shard, current.mcpServerId),
      countedPayments: counted === undefined ? none : keys.countedPayments(shard, counted.of),
      endedOf: keys.endedOf(shard, current.subject, voucherOf(current)),
      ended: keys.ended(shard),
      answers: answer?.list ?? none,
      paidBy: paid === undefined ? none : keys.paidBy(shard, current.subject, voucherOf(current)),
      answerLedger: answer?.ledger ?? none,
      formerOneTime:
        putOneTime && 'attempt' in current && current.attempt !== undefined
          ? keys.oneTime(shard, current.attempt)
          : none,
    },
    {
      elicitationId,
      operationId: request.operationId,
      version: current.version,
      timing: timingOf(request),
      status: next.status,
      leaves: leavesOf(request),
      retentionMs: scripts.retentionMs,
      mcpServerId: current.mcpServerId,
      kind: current.request.kind,
      eventsKept: scripts.eventsPerShard,
      wakeUpChannel: keys.wake,
      oneTimeTtlMs: putOneTime?.ttlMs,
      oneTimeRecord: putOneTime && encodeOneTime(putOneTime.record),
      oneTimeSealed: putOneTime?.record.sealed,
      answerId: answer?.id,
      answerRecord: answer?.record,
      expiresWithinMs,
      result: putResult && encodeResult(current, putResult.sealed),
      paymentName: paid?.processorReference,
      paymentRetentionMs: scripts.paymentRetentionMs,
      countedUnits: counted?.minorUnits,
      isReleased: counted?.isReleased === true,
      dailyLimit: counted?.countWithin,
      provider: providerAsked(current.request),
      payment: paid && encodePayment(paid),
      recordFields: recordFields(encodeElicitation(current, next)),
    },
    { repeatable: true },
  );
  const [result, ...rest] = listOf(reply);
  switch (result) {
    case 'applied': {
      scripts.committed.note(shard, textOf(rest[2]));
      const times = { now: numberOf(rest[0]), expiresAt: numberOf(rest[1]) };
      return { result, elicitation: applyTransition(request, times) };
    }
    case 'repeated':
      return { result: 'applied', elicitation: elicitationOf(elicitationId, rest) };
    case 'conflict':
    case 'untimely':
      return { result, current: elicitationOf(elicitationId, rest) };
    case 'missing':
      return { result };
    case 'over_daily_limit':
      return { result, spent: numberOf(rest[0]) };
    case 'over_quota':
      return { result, retryAfterMs: numberOf(rest[0]) };
    case 'unreadable':
      throw unreadable(layoutNamedIn(textOf(rest[0])));
    default:
      throw unknownResult();
  }
}

/**
 * The stored form of the connection or credential that a transition writes. Both have the same layout, so the script treats them
 * alike.
 */
function answerPutBy(keys: Keys, shard: Shard, { putConnection, putCredential }: TransitionElicitation) {
  if (putConnection !== undefined && putCredential !== undefined)
    throw new TypeError('A transition puts a connection or a credential.');
  if (putConnection !== undefined) {
    const { connectionId: id, subject, owner } = putConnection;
    const index = keys.connectionsOf(shard, subject);
    const list = keys.connected(shard);
    const ledger = keys.ledger(shard, owner);
    return { id, key: keys.connection(id), index, list, ledger, record: encodeConnection(putConnection) };
  }
  if (putCredential === undefined) return undefined;
  const { credentialId: id, subject, owner } = putCredential;
  const index = keys.credentialsOf(shard, subject);
  const list = keys.saved(shard);
  const ledger = keys.ledger(shard, owner);
  return { id, key: keys.credential(id), index, list, ledger, record: encodeCredential(putCredential) };
}

/** The payment that a transition adds to the daily limit, or removes from it. */
function countedBy({ current, next, countWithin }: TransitionElicitation) {
  const { request, mcpServerId, subject } = current;
  if (request.kind !== 'payment') return undefined;
  const { currency, minorUnits } = request.terms.amount;
  const of = { mcpServerId, subject, currency };
  if (countWithin !== undefined) return { of, minorUnits, countWithin, isReleased: false };
  const isPaidOrMayBe = next.status === 'completed' || (next.status === 'active' && next.approval !== undefined);
  return isCharging(current) && !isPaidOrMayBe
    ? { of, minorUnits: undefined, countWithin: undefined, isReleased: true }
    : undefined;
}

/** How long the record is kept, and whether a repeated request creates a new elicitation. */
function leavesOf({ current, next }: TransitionElicitation): 'open' | 'charging' | 'reopened' | 'ended' | 'redeemable' {
  switch (next.status) {
    case 'completed':
      return isRedeemable(current.request) ? 'redeemable' : 'ended';
    case 'active':
      if (next.approval !== undefined) return 'charging';
      return isCharging(current) ? 'reopened' : 'open';
    case 'pending':
    case 'verifying':
      return isCharging(current) ? 'reopened' : 'open';
    default:
      return 'ended';
  }
}
