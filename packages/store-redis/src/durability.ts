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

export const DEFAULT_REPLICAS = 1;
export const DEFAULT_CONFIRM_MS = 500;

export type UnsafeSetting =
  | 'appendonly'
  | 'appendfsync'
  | 'maxmemory-policy'
  | 'maxmemory'
  | 'default-user'
  | 'min-replicas-to-write'
  | 'replicas'
  | 'role'
  | 'redis_version'
  | 'config';

/** Redis would lose or evict data that the store promises to keep. The message names the setting and the remedy. */
export class UnsafeRedisError extends Error {
  override name = 'UnsafeRedisError';
  readonly setting: UnsafeSetting;

  constructor(setting: UnsafeSetting, message: string) {
    super(message);
    this.setting = setting;
  }
}

export type DurabilityChange =
  | { readonly holds: true }
  /** The setting that breaks durability, or `unknown` while Redis does not answer. */
  | { readonly holds: false; readonly reason: UnsafeSetting | 'unknown' };
