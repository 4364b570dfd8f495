import { type StorageQuota, shareOf } from '@postern/elicitation';

/** What a shard may keep of a quota, as the scripts take it. */
export function shareText(quota: StorageQuota): string {
  const { records, bytes } = shareOf(quota);
  return `${records} ${bytes}`;
}
