import { type BrowserSession, type Clock, PASSKEY_NOTICE_MS } from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { passkeyHolderIn } from './passkey-holder.ts';

/**
 * When the passkeys of this person changed last, if they may not know: for 14 days, unless they have used a passkey since that is older than
 * the change. A passkey that a thief has added cannot take the notice away.
 */
export function createPasskeyNotice(p: { stores: Pick<RedisStores, 'passkeys'>; now: Clock }) {
  return async (browserSession: BrowserSession): Promise<Date | undefined> => {
    const holder = passkeyHolderIn(browserSession);
    const change = await p.stores.passkeys.lastChange(holder);
    if (change === undefined || p.now() - change.at >= PASSKEY_NOTICE_MS) return undefined;
    const passkeys = await p.stores.passkeys.list(holder);
    const isConfirmed = passkeys.some(
      ({ createdAt, lastUsedAt = 0 }) => createdAt < change.since && lastUsedAt > change.at,
    );
    return isConfirmed ? undefined : new Date(change.at);
  };
}
