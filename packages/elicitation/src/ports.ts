import type { BrowserSession, NewBrowserSession } from './browser-session.ts';
import type { Connection, ConnectionUse, LossReason } from './connection.ts';
import type { Credential, NewCredential } from './credential.ts';
import type {
  ActiveElicitation,
  CompletedElicitation,
  Elicitation,
  EndedElicitation,
  FailedElicitation,
  PendingElicitation,
  VerifyingElicitation,
} from './elicitation.ts';
import type { BrowserSessionId, ConnectionId, CredentialId, ElicitationId, RevocationId, Shard } from './ids.ts';
import type { StorageQuota } from './storage-quota.ts';
import type { Subject } from './subject.ts';
import type { TransitionEvent } from './transitions.ts';

/**
 * What the domain needs from outside. Check and write are one verb everywhere: no port offers "get" followed by
 * "update". Every mutation takes an operation id or a digest, so that repeating it after a lost answer is harmless.
 * All of them throw StoreUnavailableError when the store does not answer.
 */

/** Everything of a new elicitation that the store does not decide itself (version, times, layout). */
export type NewElicitation = Omit<PendingElicitation, 'layout' | 'version' | 'status' | 'createdAt' | 'expiresAt'>;

/** A token set of a connection, or the values of a credential, also across their end and return. */
export type SeenAnswer = Pick<Connection, 'createdAt' | 'generation'>;

export interface CreateElicitation {
  readonly elicitation: NewElicitation;
  readonly ttlMs: number;
  readonly operationId: string;
  /** Same digest: the same MCP server asks the same person for the same account. The newest such elicitation is reported. */
  readonly coalescingDigest: string;
  /** What would answer the ask without asking anybody, for the kinds that leave something lasting. */
  readonly answeredBy?: ConnectionId | CredentialId;
  /** What the caller has already looked at and found useless; anything else that exists is reported instead of creating. */
  readonly seen: { readonly openId?: ElicitationId; readonly answer?: SeenAnswer };
  readonly subjectLimit: { readonly max: number; readonly windowMs: number };
  /** Of the MCP server. What was stored earlier is held against it too, until it has expired. */
  readonly quota: StorageQuota;
}

export type CreateResult =
  /** Created now, or earlier under the same operation id. */
  | { readonly result: 'created'; readonly elicitation: Elicitation }
  /** The connection exists with another token set than `seen.answer`. Said before anything that is open. */
  | { readonly result: 'connected'; readonly connection: Connection }
  /** Likewise, a lasting credential. */
  | { readonly result: 'kept'; readonly credential: Credential }
  /**
   * An elicitation with this coalescing digest exists and is not the one in `seen.openId`: it is open; or it is charging, whatever
   * the time, because it may have been paid; or it is completed and its result waits to be redeemed, because the person has answered.
   */
  | { readonly result: 'open'; readonly elicitationId: ElicitationId }
  /** The subject's limit is used up; nothing was written. */
  | { readonly result: 'limited'; readonly retryAfterMs: number }
  | OverQuota;

/** The shard keeps as much for the MCP server as it may; nothing was written. Some of it expires after `retryAfterMs`. */
export interface OverQuota {
  readonly result: 'over_quota';
  readonly retryAfterMs: number;
}

/** What a move decides; version and times are the store's. */
export type NextElicitation =
  | (Pick<PendingElicitation, 'status' | 'trouble' | 'missing'> & {
      /** Only for `widen`. */ readonly scopes?: readonly string[];
    })
  | Pick<ActiveElicitation, 'status' | 'attempt' | 'approval' | 'charge'>
  | Pick<VerifyingElicitation, 'status' | 'attempt'>
  | Pick<CompletedElicitation, 'status' | 'outcome'>
  | Pick<FailedElicitation, 'status' | 'failure'>
  | Pick<EndedElicitation, 'status'>;

/** A secret-bearing record that can be taken once. It is stored under the digest of the value that takes it. */
export interface OneTimeRecord {
  readonly digest: string;
  readonly elicitationId: ElicitationId;
  readonly mcpServerId: string;
  readonly provider?: string;
  /** Digest of the browser that started it; absent where the taker is not a browser. */
  readonly browserBinding?: string;
  /** Sealed by the vault. */
  readonly sealed: string;
}

/** The token set of a finished authorization, to be stored in the same commit that completes its elicitation. */
export type NewConnection = Omit<Connection, 'layout' | 'generation' | 'createdAt' | 'updatedAt' | 'lost' | 'lastUse'>;

export interface TransitionElicitation {
  /** The elicitation the decision was made on; its version must still be the stored one. */
  readonly current: Elicitation;
  readonly events: readonly TransitionEvent[];
  readonly next: NextElicitation;
  readonly operationId: string;
  readonly putOneTime?: { readonly record: OneTimeRecord; readonly ttlMs: number };
  readonly putConnection?: NewConnection;
  readonly putCredential?: NewCredential;
  /** What was typed, sealed by the vault. Kept for as long as the elicitation, also when redeemed: a repeat gets it again. */
  readonly putResult?: { readonly sealed: string };
  /** Brings the end nearer: from now on it is over within this time, if not sooner. Never later. */
  readonly expiresWithinMs?: number;
}

export type TransitionResult =
  /** Committed now, or earlier under the same operation id. Status, effects and event exist together. */
  | { readonly result: 'applied'; readonly elicitation: Elicitation }
  /** Another move came first. */
  | { readonly result: 'conflict'; readonly current: Elicitation }
  /** Its time is over on the store's clock (for `expire`: not over yet). Nothing was written. */
  | { readonly result: 'untimely'; readonly current: Elicitation }
  | { readonly result: 'missing' }
  /** Only for a move that adds a record or a result, or outgrows what it was charged for; a payment moves in any case. */
  | OverQuota;

/** Takes the result of a completed elicitation, for whoever names the redemption first. */
export interface RedeemElicitation {
  readonly elicitationId: ElicitationId;
  /** Digest of the redeemer's own name for this; the same again gets the same. */
  readonly redemption: string;
}

export type RedeemResult =
  /** Exactly one `redemption` ever gets this; its repeats do as well, with `isFirst` false. */
  | {
      readonly result: 'redeemed';
      readonly elicitation: CompletedElicitation;
      /** What was put with `putResult`. */
      readonly sealed?: string;
      readonly isFirst: boolean;
    }
  /** Taken under another name. */
  | { readonly result: 'spent'; readonly elicitation: CompletedElicitation }
  /** Not completed, or of a kind without a result. */
  | { readonly result: 'unredeemable'; readonly elicitation: Elicitation }
  | { readonly result: 'missing' };

export interface ElicitationStore {
  create(request: CreateElicitation): Promise<CreateResult>;
  read(elicitationId: ElicitationId): Promise<Elicitation | undefined>;
  /** Timely according to `timingOf`. @throws IllegalTransitionError before anything is sent, as `assertTransition`. */
  transition(request: TransitionElicitation): Promise<TransitionResult>;
  /** Check and taking are one: of two names at once, one is `redeemed`. Changes neither status nor version, and announces nothing. */
  redeem(request: RedeemElicitation): Promise<RedeemResult>;
  /** Open elicitations of a shard whose time is over, oldest first. */
  due(shard: Shard, limit: number): Promise<readonly ElicitationId[]>;
  /** For a charging elicitation that is over and whose truth is not known yet: not `due` again for this time. Keeps its record. */
  postpone(elicitationId: ElicitationId, delayMs: number): Promise<void>;
  /**
   * Those of a person that have not ended and are not over, of every MCP server, oldest first. Of very many,
   * the hundred that are over last. */
  listOpen(subject: Subject): Promise<readonly Elicitation[]>;
}

/**
 * What is remembered of payments for longer than their elicitations: a processor repeats its webhooks for days. `counted` is written by
 * the commit that completes the elicitation with the payment.
 */
export interface PaymentStore {
  /** Undefined for a payment that nothing is remembered of. */
  read(elicitationId: ElicitationId, processorReference: string): Promise<PaymentNote | undefined>;
  /** Remembers that somebody was told to pay it back. A payment that counted stays `counted`. */
  noteReported(elicitationId: ElicitationId, processorReference: string): Promise<void>;
  /** Has it come up in `dueChecks` after this delay, and not before. */
  checkLater(elicitationId: ElicitationId, delayMs: number): Promise<void>;
  /** Payments of a shard whose processor is to be asked, those that waited longest first. They stay due until put off or dropped. */
  dueChecks(shard: Shard, limit: number): Promise<readonly ElicitationId[]>;
  /** Nothing is to be asked any more. */
  dropCheck(elicitationId: ElicitationId): Promise<void>;
}

export type PaymentNote = 'counted' | 'reported';

/**
 * The token set a decision was made on. Both must still be stored: the generation counts anew when a person connects again
 * after disconnecting.
 */
export type TokenSetOf = Pick<Connection, 'connectionId' | 'createdAt' | 'generation'>;

export type BeginRefresh =
  /** The caller alone may ask the provider, until its lease ends. `troubles` counts the failures in a row before. */
  | { readonly result: 'begun'; readonly connection: Connection; readonly troubles: number }
  /** Somebody else is asking. */
  | { readonly result: 'held'; readonly retryAfterMs: number }
  /** The provider was in trouble a moment ago. */
  | { readonly result: 'postponed'; readonly retryAfterMs: number }
  /** There is a newer token set, or the connection is lost. */
  | { readonly result: 'superseded'; readonly connection: Connection }
  | { readonly result: 'missing' };

/** What a refresh brought. */
export type RefreshedTokens = Pick<Connection, 'sealedTokens' | 'scopes' | 'refreshable'> &
  Partial<Pick<Connection, 'accessTokenExpiresAt'>>;

export type TokenSetChange =
  /** Committed now, or earlier under the same operation id. */
  | { readonly result: 'stored'; readonly connection: Connection }
  | { readonly result: 'superseded'; readonly connection: Connection }
  | { readonly result: 'missing' };

/** A grant that the provider is still to be told to end. Its tokens stay sealed as they were in the connection. */
export interface Revocation
  extends Pick<
    Connection,
    'owner' | 'subject' | 'provider' | 'resource' | 'account' | 'elicitationId' | 'sealedTokens'
  > {
  readonly revocationId: RevocationId;
  readonly createdAt: number;
  /** How often it was claimed, this time included. */
  readonly attempts: number;
}

export type NewRevocation = Omit<Revocation, 'createdAt' | 'attempts'>;

export interface ConnectionStore {
  read(connectionId: ConnectionId): Promise<Connection | undefined>;
  /** Those of every owner, oldest first. */
  list(subject: Subject): Promise<readonly Connection[]>;

  /** Takes the lease of one token set's refresh; of many callers at once, on any replica, one begins. */
  beginRefresh(p: {
    readonly current: TokenSetOf;
    /** Names the caller; a repeat under it begins again. */
    readonly holder: string;
    readonly leaseMs: number;
  }): Promise<BeginRefresh>;
  /**
   * Stores the next token set and ends the lease, whoever holds it by now: what the provider has issued must not get lost
   * because its bearer was slow. Wakes those who wait for the connection.
   */
  finishRefresh(p: {
    readonly current: TokenSetOf;
    readonly tokens: RefreshedTokens;
    readonly operationId: string;
  }): Promise<TokenSetChange>;
  /** The provider was in trouble: gives the lease back, and nobody begins again before `delayMs` is over. Wakes the waiting. */
  postponeRefresh(p: {
    readonly current: TokenSetOf;
    readonly holder: string;
    readonly delayMs: number;
  }): Promise<void>;
  /** Marks this token set, and no newer one, as lost. Wakes the waiting. `stored` also when it was lost already. */
  markLost(p: { readonly current: TokenSetOf; readonly reason: LossReason }): Promise<TokenSetChange>;
  /** Remembers who used it last. Does nothing where it is gone. */
  noteUse(p: { readonly connectionId: ConnectionId; readonly use: ConnectionUse }): Promise<void>;

  /**
   * Deletes it. With `revocationId`, what the provider must be told moves to the revocations in the same commit, due at
   * once; undefined where nothing was there. Wakes the waiting.
   */
  remove(p: {
    readonly connectionId: ConnectionId;
    readonly revocationId?: RevocationId;
  }): Promise<Connection | undefined>;
}

/** Grants that providers are still to be told about. */
export interface RevocationStore {
  /** A grant that never became a connection; due at once. Repeating it under its id changes nothing. */
  add(revocation: NewRevocation): Promise<void>;
  /** Those of the shard that are due, each for one caller until the lease ends. */
  claim(shard: Shard, p: { readonly limit: number; readonly leaseMs: number }): Promise<readonly Revocation[]>;
  /** One by its id, due or not, for one caller until the lease ends; undefined where it is gone or claimed. */
  claimOne(revocationId: RevocationId, leaseMs: number): Promise<Revocation | undefined>;
  /** Done, or given up: nothing of it is kept. */
  finish(revocationId: RevocationId): Promise<void>;
  /** To be tried again. */
  postpone(revocationId: RevocationId, delayMs: number): Promise<void>;
}

export type ConsumeResult =
  /** Exactly one caller ever gets this. */
  | { readonly result: 'taken'; readonly record: OneTimeRecord }
  /** Taken before, by whomever. The sealed part is gone. */
  | { readonly result: 'spent'; readonly record: Omit<OneTimeRecord, 'sealed'> }
  | { readonly result: 'unknown' };

export interface OneTimeStore {
  /** Looks without taking. */
  read(shard: Shard, digest: string): Promise<OneTimeRecord | undefined>;
  consume(shard: Shard, digest: string): Promise<ConsumeResult>;
  /** True for exactly one caller per digest within `ttlMs`. For self-contained one-time values (sealed cookies, tickets). */
  claim(digest: string, ttlMs: number): Promise<boolean>;
}

export interface BrowserSessionStore {
  create(
    session: NewBrowserSession,
    lifetime: { readonly idleMs: number; readonly absoluteMs: number },
  ): Promise<BrowserSession>;
  /** Changes nothing; a session past its idle or absolute lifetime is undefined. */
  read(id: BrowserSessionId): Promise<BrowserSession | undefined>;
  /** Restarts the idle time, never beyond the absolute lifetime. */
  touch(id: BrowserSessionId): Promise<void>;
  end(id: BrowserSessionId): Promise<void>;
}

export type IdempotencyBegin =
  /** Go on, using this reservation: the caller's own, or that of an earlier attempt that never finished. */
  | { readonly result: 'begun'; readonly reservation: string }
  | { readonly result: 'replay'; readonly response: string }
  /** The key was used for another request body. */
  | { readonly result: 'mismatch' }
  | { readonly result: 'in_flight'; readonly retryAfterMs: number }
  | OverQuota;

/** The Idempotency-Key contract of draft-ietf-httpapi-idempotency-key-header-07. */
export interface IdempotencyStore {
  begin(p: {
    /** Whose record it is. */
    readonly mcpServerId: string;
    readonly digest: string;
    readonly fingerprint: string;
    readonly reservation: string;
    readonly leaseMs: number;
    readonly quota: StorageQuota;
  }): Promise<IdempotencyBegin>;
  /** Keeps the answer for at least `retentionMs`. */
  finish(p: {
    readonly mcpServerId: string;
    readonly digest: string;
    readonly fingerprint: string;
    readonly response: string;
    readonly retentionMs: number;
  }): Promise<void>;
  /** Gives the key back after a refusal that wrote nothing. */
  abandon(p: { readonly mcpServerId: string; readonly digest: string; readonly fingerprint: string }): Promise<void>;
}

/** A registration made before reading, so that a change between reading and waiting is not lost. */
export interface Watch extends Disposable {
  /** Resolves on a wake-up since the last call, after `timeoutMs`, or on abort. Only a hint: the caller reads again. */
  next(timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Notifier {
  watch(id: ElicitationId | ConnectionId): Watch;
}

/** Current time in epoch milliseconds. The store has its own; this one is for what never reaches the store. */
export type Clock = () => number;
