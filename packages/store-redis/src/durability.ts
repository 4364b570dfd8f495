/**
 * The guarantee behind an acknowledgement (docs/redis.md):
 * - `single`: the write is in the append-only file, which Redis flushes at least every second.
 * - `single-strict`: the write is on disk.
 * - `ha`: replicas have the write too. Unconfirmed writes are not acknowledged.
 */
export const durabilityProfiles = ['single', 'single-strict', 'ha'] as const;
export type DurabilityProfile = (typeof durabilityProfiles)[number];

export interface DurabilityOptions {
  /** Default `single`. */
  readonly profile?: DurabilityProfile;
  /** Number of replicas that must have a write before it is acknowledged, in profile `ha`. Default 1. */
  readonly replicas?: number;
  /** Maximum wait for the acknowledgement of replicas, in ms. Default 500. */
  readonly timeoutMs?: number;
}

/** Format of a deployment id. The configuration checks it too. */
export const DEPLOYMENT_ID = /^dp_[A-Za-z0-9_-]{8,64}$/;

export const DEFAULT_REPLICAS = 1;
export const DEFAULT_CONFIRM_MS = 500;
