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
