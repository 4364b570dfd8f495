import {
  type CreateElicitation,
  type CreateResult,
  DomainError,
  IDEMPOTENCY_RETENTION_MS,
  type NewElicitation,
  parseConnectionId,
  parseCredentialId,
  providerAsked,
  type Shard,
  type StorageQuota,
  shardIn,
  shareOf,
} from '@postern/elicitation';
import type { CommittedEvents } from './committed-events.ts';
import { askOf, type Keys } from './keys.ts';
import { connectionOf } from './records/connection-record.ts';
import { credentialOf } from './records/credential-record.ts';
import { elicitationIdOf, elicitationOf, encodeElicitation, recordFields } from './records/elicitation-record.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, numberOf, textOf, unknownResult } from './reply.ts';
import { scalar } from './script.ts';

/** Dependencies of the elicitation scripts. */
export interface ElicitationScripts {
  readonly link: RedisLink;
  readonly keys: Keys;
  readonly retentionMs: number;
  /** Retention of payment records. */
  readonly paymentRetentionMs: number;
  readonly eventsPerShard: number;
  /** Receives the id of every committed event. */
  readonly committed: CommittedEvents;
}

/** Calls `commands/create-elicitation.lua`. */
export async function createElicitation(
  scripts: ElicitationScripts,
  request: CreateElicitation,
): Promise<CreateResult> {
  const { link, keys } = scripts;
  const { elicitation, seen, subjectLimit, idempotencyKey } = request;
  const { elicitationId, mcpServerId } = elicitation;
  const shard = shardIn(elicitationId);
  const reply = await link.run(
    'createElicitation',
    {
      elicitation: keys.elicitation(elicitationId),
      open: keys.open(shard),
      due: keys.due(shard),
      answer: answerKeyOf(keys, shard, request.answeredBy),
      subjectLimit: keys.subjectLimit(shard, mcpServerId, elicitation.subject),
      events: keys.events(shard),
      openOf: keys.openOf(shard, mcpServerId, elicitation.subject),
      held: keys.held(shard),
      ledger: keys.ledger(shard, mcpServerId),
      idempotency: idempotencyKey ? keys.idempotency(shard, idempotencyKey.digest) : keys.none(shard),
      mutedBy: keys.mutedBy(shard, elicitation.subject),
    },
    {
      elicitationId,
      operationId: request.operationId,
      ttlMs: request.ttlMs,
      retentionMs: scripts.retentionMs,
      ask: askOf(request.coalescingDigest),
      seenOpenId: seen.openId,
      seenAnswer: seen.answer && `${seen.answer.createdAt} ${seen.answer.generation}`,
      limit: subjectLimit.max,
      limitWindowMs: subjectLimit.windowMs,
      mcpServerId,
      kind: elicitation.request.kind,
      eventsKept: scripts.eventsPerShard,
      wakeUpChannel: keys.wake,
      openMax: request.openMax,
      share: shareText(request.quota),
      // A key without a fingerprint must not pass for no key.
      fingerprint: idempotencyKey && scalar(idempotencyKey.fingerprint),
      idempotencyRetentionMs: IDEMPOTENCY_RETENTION_MS,
      provider: providerAsked(elicitation.request),
      isLasting: request.answeredBy !== undefined,
      recordFields: recordFields(encodeElicitation(elicitation, { status: 'pending' })),
    },
    { repeatable: true },
  );
  const [result, ...rest] = listOf(reply);
  switch (result) {
    case 'created': {
      scripts.committed.note(shard, textOf(rest[2]));
      const times = { createdAt: numberOf(rest[0]), expiresAt: numberOf(rest[1]) };
      return { result, elicitation: { ...elicitation, ...times, version: 1, status: 'pending' } };
    }
    case 'replayed':
      return answerUnderKey(elicitation, textOf(rest[0]));
    case 'key_reused':
      return { result };
    case 'repeated':
      return { result: 'created', elicitation: elicitationOf(elicitationId, rest) };
    case 'open':
      return { result, elicitationId: elicitationIdOf(rest[0]) };
    case 'existing':
      return answeredWith(request.answeredBy, rest);
    case 'muted':
      return { result };
    case 'limited':
    case 'crowded':
    case 'over_quota':
      return { result, retryAfterMs: numberOf(rest[0]) };
    case 'taken':
      throw new DomainError('contention', 'The elicitation id belongs to another operation.');
    default:
      throw unknownResult();
  }
}

/** The key of the connection or credential that would answer the request. */
function answerKeyOf(keys: Keys, shard: Shard, id: CreateElicitation['answeredBy']): string {
  if (id === undefined) return keys.none(shard);
  const connectionId = parseConnectionId(id);
  if (connectionId !== undefined) return keys.connection(connectionId);
  const credentialId = parseCredentialId(id);
  if (credentialId !== undefined) return keys.credential(credentialId);
  throw new TypeError('Only a connection or a credential answers an ask.');
}

/** Reads the connection or credential that answers the request. */
function answeredWith(id: CreateElicitation['answeredBy'], found: readonly unknown[]): CreateResult {
  const connectionId = id && parseConnectionId(id);
  if (connectionId) return { result: 'existing_connection', connection: connectionOf(connectionId, found) };
  const credentialId = id && parseCredentialId(id);
  if (credentialId) return { result: 'existing_credential', credential: credentialOf(credentialId, found) };
  throw unknownResult();
}

/**
 * Converts the value behind an idempotency key: a stored response, or the created elicitation. An equal request under the
 * key gets the same.
 */
function answerUnderKey(elicitation: NewElicitation, answer: string): CreateResult {
  const [, id, createdAt, expiresAt] = /^(el_\S+) (\d+) (\d+)$/.exec(answer) ?? [];
  if (id === undefined) return { result: 'replayed', response: answer };
  const elicitationId = elicitationIdOf(id);
  const times = { createdAt: Number(createdAt), expiresAt: Number(expiresAt) };
  return {
    // The stored id is our own, so this is a repeat of a command whose reply was lost.
    result: elicitationId === elicitation.elicitationId ? 'created' : 'repeated',
    elicitation: { ...elicitation, elicitationId, ...times, version: 1, status: 'pending' },
  };
}

/** The quota of a shard, in the format of the scripts. */
export function shareText(quota: StorageQuota): string {
  const { records, bytes } = shareOf(quota);
  return `${records} ${bytes}`;
}
