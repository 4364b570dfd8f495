/**
 * What an acknowledgement means (docs/redis.md):
 * - `single`: it is in the append-only file, written to disk at least every second.
 * - `single-strict`: it is on disk.
 * - `ha`: it is on replicas too. Whatever is not confirmed by them is not acknowledged.
 */
export const durabilityProfiles = ['single', 'single-strict', 'ha'] as const;
export type DurabilityProfile = (typeof durabilityProfiles)[number];

export interface DurabilityOptions {
  /** Default `single`. */
  readonly profile?: DurabilityProfile;
  /** Replicas that must have what is acknowledged, in profile `ha`. Default 1. */
  readonly replicas?: number;
  /** How long an acknowledgement by replicas may take, in ms. Default 500. */
  readonly timeoutMs?: number;
}

export const DEFAULT_REPLICAS = 1;
export const DEFAULT_CONFIRM_MS = 500;
