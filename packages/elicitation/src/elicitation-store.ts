import type { Connection } from './connection.ts';
import type { Credential } from './credential.ts';
import type { CompletedElicitation, Elicitation, PendingElicitation, TerminalElicitation } from './elicitation.ts';
import type { ConnectionId, CredentialId, ElicitationId, Shard, Subject } from './ids.ts';
import type { StorageQuota } from './mcp-server.ts';
import type { TransitionElicitation } from './transitions.ts';

/** A new elicitation without the members that the store decides (version, times). */
export type NewElicitation = Omit<PendingElicitation, 'version' | 'status' | 'createdAt' | 'expiresAt'>;

/** Retention of the response to an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07 leaves it to us). */
export const IDEMPOTENCY_RETENTION_MS = 24 * 3_600_000;

/**
 * An `Idempotency-Key`. Its record is in the shard of the subject, so that one commit creates the elicitation and stores the
 * response.
 */
export interface IdempotencyKey {
  /** Digest of MCP server, subject and key: the same key for another subject is another key. */
  readonly digest: string;
  /** Digest of the request body, without whitespace. */
  readonly fingerprint: string;
}

/** A token set of a connection, or the values of a credential. Stays unique when the record is deleted and recreated. */
export type SeenAnswer = Pick<Connection, 'createdAt' | 'generation'>;

export interface CreateElicitation {
  readonly elicitation: NewElicitation;
  readonly ttlMs: number;
  readonly operationId: string;
  /** Stored in the commit that creates the elicitation. The record of an earlier request under this key is reported first. */
  readonly idempotencyKey?: IdempotencyKey;
  /** Equal if the same MCP server asks the same user for the same account. The newest such elicitation is reported. */
  readonly coalescingDigest: string;
  /** Id of the connection or credential that would answer the request without the user, for kinds that have one. */
  readonly answeredBy?: ConnectionId | CredentialId;
  /** Records that the caller has read and found unusable. The store reports any other existing one instead of creating. */
  readonly seen: { readonly openId?: ElicitationId; readonly answer?: SeenAnswer };
  readonly subjectLimit: { readonly max: number; readonly windowMs: number };
  /** Maximum number of open elicitations of the subject at this MCP server. */
  readonly openMax: number;
  /** Quota of the MCP server. Records stored earlier count against it until they expire or are removed. */
  readonly quota: StorageQuota;
}

export type CreateResult =
  /** Created now, or earlier under the same operation id. */
  | { readonly result: 'created'; readonly elicitation: Elicitation }
  /** Created by an earlier operation under the same idempotency key, in its initial state. */
  | { readonly result: 'repeated'; readonly elicitation: Elicitation }
  /** The response that `IdempotencyStore.put` stored under the key. */
  | { readonly result: 'replayed'; readonly response: string }
  /** The idempotency key was used with another fingerprint; nothing was written. */
  | { readonly result: 'key_reused' }
  /** The connection exists with another token set than `seen.answer`. Reported before any open elicitation. */
  | { readonly result: 'existing_connection'; readonly connection: Connection }
  /** The same for a lasting credential. */
  | { readonly result: 'existing_credential'; readonly credential: Credential }
  /**
   * An elicitation with this coalescing digest exists and is not `seen.openId`. It is open, or charging (even after its expiry,
   * because the user may have paid), or completed with a result to redeem.
   */
  | { readonly result: 'open'; readonly elicitationId: ElicitationId }
  /** The subject muted the MCP server; nothing was written. */
  | { readonly result: 'muted' }
  /** The subject's limit is used up; nothing was written. */
  | { readonly result: 'limited'; readonly retryAfterMs: number }
  /** The subject has `openMax` open elicitations of the MCP server; nothing was written. One expires after `retryAfterMs`. */
  | { readonly result: 'crowded'; readonly retryAfterMs: number }
  | OverQuota;

/** The shard has reached the limit of the MCP server; nothing was written. Some records expire after `retryAfterMs`. */
export interface OverQuota {
  readonly result: 'over_quota';
  readonly retryAfterMs: number;
}

export type TransitionResult =
  /** Committed now, or earlier under the same operation id. Status, effects and event exist together. */
  | { readonly result: 'applied'; readonly elicitation: Elicitation }
  /** Another transition was committed first. */
  | { readonly result: 'conflict'; readonly current: Elicitation }
  /** Expired by the store's clock (for `expire`: not expired yet). Nothing was written. */
  | { readonly result: 'untimely'; readonly current: Elicitation }
  | { readonly result: 'missing' }
  /** Only with `countWithin`. Nothing was written. `spent` is the sum of the other payments. */
  | { readonly result: 'over_daily_limit'; readonly spent: number }
  /**
   * Only for a transition that adds a record or a result, or outgrows its charge. Transitions of payments are always committed.
   */
  | OverQuota;

/** Redeems the result of a completed elicitation. The first redemption id wins. */
export interface RedeemElicitation {
  readonly elicitationId: ElicitationId;
  /** Digest of the redeemer's idempotency key; the same key gets the same result. */
  readonly redemption: string;
}

export type RedeemResult =
  /** Only one `redemption` ever gets this. Its repeats get it too, with `isFirst` false. */
  | {
      readonly result: 'redeemed';
      readonly elicitation: CompletedElicitation;
      /** The value of `putResult`. */
      readonly sealed?: string;
      readonly isFirst: boolean;
    }
  /** Redeemed under another key. */
  | { readonly result: 'spent'; readonly elicitation: CompletedElicitation }
  /** Not completed, or of a kind without a result. */
  | { readonly result: 'unredeemable'; readonly elicitation: Elicitation }
  | { readonly result: 'missing' };

export interface ElicitationStore {
  create(request: CreateElicitation): Promise<CreateResult>;
  read(elicitationId: ElicitationId): Promise<Elicitation | undefined>;
  /** Checks the time as `timingOf` requires. @throws IllegalTransitionError before anything is sent, as `assertTransition`. */
  transition(request: TransitionElicitation): Promise<TransitionResult>;
  /**
   * Checks and takes in one step: one of two concurrent redemptions gets `redeemed`. Changes neither status nor version, and
   * emits no event.
   */
  redeem(request: RedeemElicitation): Promise<RedeemResult>;
  /** Expired elicitations of a shard that have not ended, oldest first. */
  due(shard: Shard, limit: number): Promise<readonly ElicitationId[]>;
  /**
   * Removes an expired charging elicitation from `due` for this time, because its payment status is still unknown. Keeps its
   * record.
   */
  postpone(elicitationId: ElicitationId, delayMs: number): Promise<void>;
  /**
   * Open, unexpired elicitations of a user at these MCP servers, oldest first. All of them are listed: `openMax` limits their
   * number per MCP server, so that no MCP server can hide those of another.
   */
  listOpen(subject: Subject, mcpServerIds: readonly string[]): Promise<readonly Elicitation[]>;
  /**
   * Elicitations that the user ended (completed, declined, failed), newest first, until their records expire. At most the newest hundred.
   * @param voucher the MCP server whose application vouched for the user. Absent: all elicitations of users who sign in at the gateway.
   * An application could otherwise push out the decisions of a user that it merely names.
   */
  listEnded(subject: Subject, voucher?: string): Promise<readonly TerminalElicitation[]>;
}

/** Responses to requests that created nothing; `ElicitationStore.create` stores and reports the others. */
export interface IdempotencyStore {
  /** Stores a response under a key that has no record yet. `exists` also when this call is repeated. */
  put(
    p: IdempotencyKey & {
      readonly shard: Shard;
      readonly mcpServerId: string;
      readonly response: string;
      readonly quota: StorageQuota;
    },
  ): Promise<{ readonly result: 'stored' | 'exists' } | OverQuota>;
}
