import type { Connection } from './connection.ts';
import type { RevocationId, Shard } from './ids.ts';

/** A grant to be revoked at its provider. Its tokens stay sealed as in the connection. */
export interface Revocation
  extends Pick<
    Connection,
    'owner' | 'subject' | 'provider' | 'resource' | 'account' | 'elicitationId' | 'sealedTokens'
  > {
  readonly revocationId: RevocationId;
  readonly createdAt: number;
  /** Number of claims, including this one. */
  readonly attempts: number;
}

export type NewRevocation = Omit<Revocation, 'createdAt' | 'attempts'>;

/** Grants to be revoked at their providers. */
export interface RevocationStore {
  /** Adds a grant that never became a connection, due immediately. Repeating it under its id changes nothing. */
  add(revocation: NewRevocation): Promise<void>;
  /** Claims the due revocations of the shard, each for one caller until the lease expires. */
  claim(shard: Shard, p: { readonly limit: number; readonly leaseMs: number }): Promise<readonly Revocation[]>;
  /** Claims one by its id, due or not, for one caller until the lease expires; undefined if it is gone or claimed. */
  claimOne(revocationId: RevocationId, leaseMs: number): Promise<Revocation | undefined>;
  /** Deletes a revocation that is done or given up. */
  finish(revocation: Pick<Revocation, 'revocationId' | 'owner'>): Promise<void>;
  /** Schedules the next attempt. */
  postpone(revocationId: RevocationId, delayMs: number): Promise<void>;
}
