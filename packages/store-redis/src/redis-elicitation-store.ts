import {
  applyTransition,
  assertTransition,
  type CreateElicitation,
  type CreateResult,
  claimAfter,
  DomainError,
  dangers,
  type Elicitation,
  type ElicitationId,
  type ElicitationRequest,
  type ElicitationStore,
  failureCodes,
  IDEMPOTENCY_RETENTION_MS,
  identityModes,
  isCharging,
  isRedeemable,
  isTerminal,
  type JsonObject,
  kinds,
  type NewElicitation,
  type NextElicitation,
  newOperationId,
  type Outcome,
  oldestFirst,
  parseConnectionId,
  parseCredentialId,
  parseElicitationId,
  paymentPutBy,
  providerAsked,
  type RedeemElicitation,
  type RedeemResult,
  retryReasons,
  type Shard,
  type Subject,
  shardIn,
  shardOf,
  systemEntropy,
  type TerminalElicitation,
  type TransitionElicitation,
  type TransitionResult,
  timingOf,
  voucherOf,
} from '@postern/elicitation';
import { z } from 'zod';
import { askOf, type Keys } from './keys.ts';
import {
  connectionId,
  credentialId,
  decode,
  elicitationId,
  encode,
  layoutNamedIn,
  localText,
  shareText,
  subject,
  text,
  time,
  unreadable,
} from './record-layout.ts';
import { connectionOf, encodeConnection } from './redis-connection-store.ts';
import { credentialOf, encodeCredential } from './redis-credential-store.ts';
import { type CommittedEvents, type RedisLink, RedisPort } from './redis-link.ts';
import { encodeOneTime } from './redis-one-time-store.ts';
import { encodePayment } from './redis-payment-store.ts';
import { isAbsent, listOf, numberOf, scalar, textOf, unknownResult } from './script.ts';

/** Dependencies of the elicitation scripts. */
interface ElicitationScripts {
  readonly link: RedisLink;
  readonly keys: Keys;
  readonly retentionMs: number;
  /** Retention of payment records. */
  readonly paymentRetentionMs: number;
  readonly eventsPerShard: number;
  /** Receives the id of every committed event. */
  readonly committed: CommittedEvents;
}

export class RedisElicitationStore extends RedisPort implements ElicitationStore {
  readonly #scripts: ElicitationScripts;

  constructor(scripts: ElicitationScripts) {
    super(scripts.link, scripts.keys);
    this.#scripts = scripts;
  }

  create(request: CreateElicitation): Promise<CreateResult> {
    return createElicitation(this.#scripts, request);
  }

  async read(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    const key = this.keys.elicitation(elicitationId);
    const reply = await this.link.callFor('readElicitation', 'hmget', key, ...ELICITATION_FIELDS);
    const found = listOf(reply);
    return isAbsent(found[0]) ? undefined : elicitationOf(elicitationId, found);
  }

  transition(request: TransitionElicitation): Promise<TransitionResult> {
    return transitionElicitation(this.#scripts, request);
  }

  async redeem({ elicitationId, redemption }: RedeemElicitation): Promise<RedeemResult> {
    const shard = shardIn(elicitationId);
    const reply = await this.repeatable(
      'redeemElicitation',
      {
        elicitation: this.keys.elicitation(elicitationId),
        result: this.keys.result(elicitationId),
        open: this.keys.open(shard),
        held: this.keys.held(shard),
      },
      // Each call has a unique id, so a retry after a lost reply recognizes the redemption as its own.
      {
        elicitationId,
        redemption,
        call: newOperationId(systemEntropy),
        retentionMs: this.#scripts.retentionMs,
      },
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
    const reply = await this.once(
      'dueElicitations',
      { due: this.keys.due(shard), open: this.keys.open(shard), held: this.keys.held(shard) },
      { limit, retentionMs: this.#scripts.retentionMs },
    );
    return listOf(reply).map(elicitationIdOf);
  }

  async postpone(elicitationId: ElicitationId, delayMs: number): Promise<void> {
    const shard = shardIn(elicitationId);
    await this.repeatable(
      'postponeElicitation',
      { elicitation: this.keys.elicitation(elicitationId), due: this.keys.due(shard), held: this.keys.held(shard) },
      { elicitationId, delayMs },
    );
  }

  async listOpen(subject: Subject, mcpServerIds: readonly string[]): Promise<readonly Elicitation[]> {
    const found = await Promise.all(mcpServerIds.map(mcpServerId => this.#openAt(mcpServerId, subject)));
    return found.flat().sort(oldestFirst(({ elicitationId: id, createdAt: at }) => ({ id, at })));
  }

  async #openAt(mcpServerId: string, subject: Subject): Promise<readonly Elicitation[]> {
    const openOf = this.keys.openOf(shardOf(subject), mcpServerId, subject);
    const reply = await this.repeatable('openElicitations', { openOf }, {});
    const [now, ...ids] = listOf(reply);
    const found = await this.all(ids, elicitationIdOf, id => this.read(id));
    // The records filter out elicitations that ended between both reads, or that expired without the index knowing.
    return found.filter(elicitation => !isTerminal(elicitation) && elicitation.expiresAt > numberOf(now));
  }

  async listEnded(subject: Subject, voucher?: string): Promise<readonly TerminalElicitation[]> {
    const key = this.keys.endedOf(shardOf(subject), subject, voucher);
    const ids = await this.link.call('zrange', key, 0, -1, 'REV');
    // Omits a record that has expired meanwhile.
    return (await this.all(ids, elicitationIdOf, id => this.read(id))).filter(elicitation => isTerminal(elicitation));
  }
}

function completedOf(elicitationId: ElicitationId, found: readonly unknown[]) {
  const elicitation = elicitationOf(elicitationId, found);
  if (elicitation.status !== 'completed') throw unknownResult();
  return elicitation;
}

async function createElicitation(scripts: ElicitationScripts, request: CreateElicitation): Promise<CreateResult> {
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

async function transitionElicitation(
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

/** Repeats the owner of the sealed result, so that key rotation need not read the elicitation. */
const resultSchema = z.object({
  mcpServerId: text,
  subject,
  kind: z.enum(kinds),
  sealedResult: text,
});

function encodeResult(
  { mcpServerId, subject, request }: Pick<Elicitation, 'mcpServerId' | 'subject' | 'request'>,
  sealedResult: string,
): string {
  return encode({ mcpServerId, subject, kind: request.kind, sealedResult });
}

/** @throws DomainError `unknown_record_layout` */
function decodeResult(json: string): string {
  return decode(resultSchema, json).sealedResult;
}

/** One schema per kind, for the request and for its outcome. */

const digest = text;
const amount = z.object({ currency: text, minorUnits: z.int() });

const authorizationRequest = z.object({
  kind: z.literal('authorization'),
  provider: text,
  scopes: z.array(text),
  resource: text.optional(),
  expectedAccount: text.optional(),
});

const paymentRequest = z.object({
  kind: z.literal('payment'),
  digest,
  terms: z.object({
    payee: z.object({ name: text }),
    amount,
    items: z.array(z.object({ label: localText, quantity: z.int(), unitMinorUnits: z.int() })).optional(),
    reference: text,
  }),
  processor: text,
  payeeAccount: text.optional(),
});

const fact = z.discriminatedUnion('type', [
  z.object({ label: localText, type: z.literal('text'), value: localText }),
  z.object({ label: localText, type: z.literal('number'), value: z.number() }),
  z.object({ label: localText, type: z.literal('amount'), value: amount }),
  z.object({ label: localText, type: z.literal('time'), value: text }),
  z.object({ label: localText, type: z.literal('host'), value: text }),
]);

const confirmationRequest = z.object({
  kind: z.literal('confirmation'),
  digest,
  terms: z.object({
    title: localText,
    action: localText.optional(),
    facts: z.array(fact),
    arguments: text.optional(),
    binding: text.optional(),
    danger: z.enum(dangers),
  }),
});

const credentialRequest = z.object({
  kind: z.literal('credential'),
  digest,
  name: text,
  title: localText,
  fields: z.array(
    z.object({
      name: text,
      label: localText,
      secret: z.boolean(),
      pattern: text.optional(),
      help: localText.optional(),
      example: localText.optional(),
      multiline: z.boolean().optional(),
      maxLength: z.int(),
    }),
  ),
  retention: z.enum(['once', 'lasting']),
  rejectedGeneration: z.int().optional(),
});

/** Parsed JSON, so always JSON. Copying by members would lose a member named like one of `Object.prototype`. */
const jsonObject = z.custom<JsonObject>(value => typeof value === 'object' && value !== null && !Array.isArray(value));

const formRequest = z.object({
  kind: z.literal('form'),
  digest,
  title: localText.optional(),
  requestedSchema: jsonObject,
  texts: jsonObject.optional(),
  secretFields: z.array(text),
});

const requestSchema = z.discriminatedUnion('kind', [
  authorizationRequest,
  paymentRequest,
  confirmationRequest,
  credentialRequest,
  formRequest,
]) satisfies z.ZodType<ElicitationRequest>;

const approvalSchema = z.object({
  method: z.enum(['button', 'passkey']),
  identity: z.enum(['login', 'external', 'loopback']),
  at: time,
  authTime: time.optional(),
  passkey: text.optional(),
  passkeyAddedAt: time.optional(),
  language: text.optional(),
});

const mode = z.enum(['live', 'test']).optional();

const chargeSchema = z.object({ reference: text, url: text, mode });

const outcomeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('authorization'), connectionId, provider: text, scopes: z.array(text) }),
  z.object({
    kind: z.literal('payment'),
    digest,
    approval: approvalSchema,
    processor: text,
    processorReference: text.optional(),
    mode,
  }),
  z.object({ kind: z.literal('confirmation'), digest, approval: approvalSchema }),
  z.object({ kind: z.literal('credential'), name: text, credentialId: credentialId.optional() }),
  z.object({ kind: z.literal('form') }),
]) satisfies z.ZodType<Outcome>;

const base = {
  elicitationId,
  version: z.int(),
  mcpServerId: text,
  identityMode: z.enum(identityModes),
  subject,
  request: requestSchema,
  message: localText.optional(),
  requestedBy: z.object({ mcpClient: text.optional(), tool: text.optional() }).optional(),
  returnUrl: text.optional(),
  locale: text.optional(),
  traceparent: text.optional(),
  createdAt: time,
  expiresAt: time,
};

const elicitationSchema = z
  .discriminatedUnion('status', [
    z.object({
      ...base,
      status: z.literal('pending'),
      retryReason: z.enum(retryReasons).optional(),
      missing: z.array(text).optional(),
    }),
    z.object({
      ...base,
      status: z.literal('active'),
      attempt: text,
      approval: approvalSchema.optional(),
      charge: chargeSchema.optional(),
    }),
    z.object({ ...base, status: z.literal('verifying'), attempt: text }),
    z.object({
      ...base,
      status: z.literal('completed'),
      outcome: outcomeSchema,
      endedAt: time,
      redeemedAt: time.optional(),
    }),
    z.object({ ...base, status: z.literal('failed'), failure: z.enum(failureCodes), endedAt: time }),
    z.object({ ...base, status: z.enum(['declined', 'cancelled', 'expired']), endedAt: time }),
  ])
  .refine(isOfOneKind) satisfies z.ZodType<Elicitation>;

/** Outcome and request have the same kind, and only payments have an approval. */
function isOfOneKind(elicitation: Elicitation): boolean {
  const { kind } = elicitation.request;
  if (elicitation.status === 'completed') return elicitation.outcome.kind === kind;
  return elicitation.status !== 'active' || elicitation.approval === undefined || kind === 'payment';
}

/** Encodes the members that no script reads as JSON. @internal exported for tests */
export function encodeElicitation(
  of: NewElicitation | Elicitation,
  next: NextElicitation | { status: 'pending' },
): string {
  const { mcpServerId, identityMode, subject, request, message, returnUrl, locale, traceparent } = of;
  const requestedBy = claimAfter(of, next);
  const { status: _, ...changes } = next;
  // An undefined member would remove what was asked, such as its scopes.
  const decided = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  const common = { mcpServerId, identityMode, message, returnUrl, locale, traceparent };
  // Authorizations are flat, because there may be millions. Other requests are nested, because their members may have any name.
  const asked = request.kind === 'authorization' ? request : { request };
  return encode(shortened({ ...common, ...subject, ...asked, ...requestedBy, ...decided }));
}

/**
 * One-letter names for members that every live elicitation has, to save memory. Members of a status are short-lived and keep
 * their names.
 */
const letters = {
  mcpServerId: 's',
  identityMode: 'm',
  message: 't',
  returnUrl: 'b',
  locale: 'l',
  traceparent: 'c',
  issuer: 'i',
  subject: 'u',
  kind: 'k',
  provider: 'p',
  scopes: 'o',
  resource: 'r',
  expectedAccount: 'a',
  mcpClient: 'h',
  tool: 'f',
} as const;
const letterOf = new Map<string, string>(Object.entries(letters));
const nameOf = new Map<string, string>(Object.entries(letters).map(([name, letter]) => [letter, name]));

/** The most frequent values are omitted. `kind` is a member of the record only for authorizations. */
const usual: ReadonlyMap<string, unknown> = new Map([
  ['identityMode', 'login'],
  ['kind', 'authorization'],
]);

function shortened(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const written = Object.entries(record).filter(([name, value]) => !usual.has(name) || usual.get(name) !== value);
  return Object.fromEntries(written.map(([name, value]) => [letterOf.get(name) ?? name, value]));
}

function lengthened(record: Record<string, unknown>): Record<string, unknown> {
  const named = Object.fromEntries(
    Object.entries(record).map(([letter, value]) => [nameOf.get(letter) ?? letter, value]),
  );
  return { ...Object.fromEntries(usual), ...named };
}

function nested({ issuer, subject, mcpClient, tool, ...record }: Record<string, unknown>) {
  return {
    ...(record['request'] === undefined ? authorization(record) : record),
    subject: { issuer, subject },
    requestedBy: mcpClient === undefined && tool === undefined ? undefined : { mcpClient, tool },
  };
}

function authorization({ kind, provider, scopes, resource, expectedAccount, ...rest }: Record<string, unknown>) {
  return { ...rest, request: { kind, provider, scopes, resource, expectedAccount } };
}

interface ElicitationFields {
  readonly elicitationId: ElicitationId;
  readonly status: string;
  readonly version: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly endedAt?: number;
  readonly redeemedAt?: number;
}

/** @throws DomainError `unknown_record_layout` @internal */
export function decodeElicitation(json: string, fields: ElicitationFields): Elicitation {
  return decode(elicitationSchema, json, record => ({ ...nested(lengthened(record)), ...fields }));
}

/**
 * Redis stores a hash compactly if no value is longer than 64 bytes (`hash-max-listpack-value`), and otherwise needs about twice
 * the memory. A short record is therefore split across several fields. Splits are between characters, so each field is text.
 */
const LONGEST = 64;
const FURTHER = ['r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8'] as const;

/** The fields of a record. A long record is in the first field alone. @internal */
export const RECORD_FIELDS = ['record', ...FURTHER] as const;

/** Field names and values of a record, for one HSET. @internal exported for tests */
export function recordFields(record: string): readonly string[] {
  const pieces = piecesOf(record);
  return pieces === undefined ? ['record', record] : pieces.flatMap((piece, at) => [RECORD_FIELDS[at] ?? '', piece]);
}

/** Returns undefined if the record is too long for all fields. */
function piecesOf(record: string): readonly string[] | undefined {
  if (record.length > LONGEST * RECORD_FIELDS.length) return undefined;
  const bytes = Buffer.from(record);
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + LONGEST, bytes.length);
    while (isWithinCharacter(bytes[to])) to -= 1;
    pieces.push(bytes.toString('utf8', from, to));
    from = to;
  }
  return pieces.length > RECORD_FIELDS.length ? undefined : pieces;
}

/** UTF-8: every byte of a character but its first is 10xxxxxx. */
const isWithinCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** @param values the values of RECORD_FIELDS @internal */
export function joinedRecord(values: readonly unknown[]): string {
  return values.map(value => (isAbsent(value) ? '' : textOf(value))).join('');
}

const PLAIN_FIELDS = ['status', 'version', 'createdAt', 'expiresAt', 'endedAt', 'redeemed'] as const;

/** The fields of an elicitation, in the order of `./commands/elicitation-fields.lua`. */
const ELICITATION_FIELDS = [...PLAIN_FIELDS, ...RECORD_FIELDS] as const;

/** Reads `ELICITATION_FIELDS`. @throws DomainError `unknown_record_layout` */
function elicitationOf(elicitationId: ElicitationId, found: readonly unknown[]): Elicitation {
  const [status, version, createdAt, expiresAt, endedAt, redeemed, ...record] = found.slice(
    0,
    ELICITATION_FIELDS.length,
  );
  // Every elicitation has these fields. A record without them has another layout.
  if ([status, version, createdAt, expiresAt].some(isAbsent)) throw unreadable();
  return decodeElicitation(joinedRecord(record), {
    elicitationId,
    status: textOf(status),
    version: numberOf(version),
    createdAt: numberOf(createdAt),
    expiresAt: numberOf(expiresAt),
    ...(isAbsent(endedAt) ? {} : { endedAt: numberOf(endedAt) }),
    // `<at> <call> <redemption>`; empty until it is redeemed.
    ...(isAbsent(redeemed) || redeemed === '' ? {} : { redeemedAt: numberOf(textOf(redeemed).split(' ', 1)[0]) }),
  });
}

function elicitationIdOf(value: unknown): ElicitationId {
  const id = parseElicitationId(textOf(value));
  if (id === undefined) throw new TypeError('Redis answered with something other than an elicitation id.');
  return id;
}
