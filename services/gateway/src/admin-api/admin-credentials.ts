import { createHmac, timingSafeEqual } from 'node:crypto';
import { newOperationId, type StoredAdminCredential, systemEntropy } from '@postern/elicitation';
import type { NetworkStores } from '@postern/store-redis';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { sharedKeyFor } from '../platform/config/vault-config.ts';

/** `pa_`, an id of 22 characters, and a secret of 43. */
const TOKEN = /^pa_([A-Za-z0-9_-]{22})[A-Za-z0-9_-]{43}$/;
/** Without the prefix, one id in 64 would begin with `-`, and `postern admin-credentials revoke` would take it for an option. */
const idOf = (random: string): string => `ac_${random}`;

/**
 * Credentials of the admin API. Redis has a keyed digest of each: a copy of Redis reveals no token, and who can write to Redis but does not
 * have the configuration can neither add one nor widen its scopes.
 */
export function createAdminCredentials(p: {
  readonly config: Pick<GatewayConfig, 'vault'>;
  readonly store: NetworkStores['adminCredentials'];
  readonly now: () => number;
}) {
  const { store } = p;
  let reading: Promise<unknown> = Promise.resolve();
  let next: ReturnType<typeof store.readAll> | undefined;
  /** Any number of guessed tokens shares one read. It begins after the request, so that it finds every credential that was added before. */
  const all = () => {
    next ??= reading.then(() => {
      next = undefined;
      const read = store.readAll();
      reading = read.catch(() => undefined);
      return read;
    });
    return next;
  };
  const key = sharedKeyFor(p.config, 'postern admin credentials, 1');
  const macOf = (of: Pick<StoredAdminCredential, 'credentialId' | 'name' | 'scopes'>, token: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([of.credentialId, of.name, of.scopes, token]))
      .digest();

  return {
    /** Returns the token, which is not stored. @throws StoreUnavailableError */
    async add(of: Pick<StoredAdminCredential, 'name' | 'scopes' | 'by' | 'reason'>) {
      const random = newOperationId(systemEntropy);
      const credentialId = idOf(random);
      const token = `pa_${random}${Buffer.from(systemEntropy(32)).toString('base64url')}`;
      const mac = macOf({ ...of, credentialId }, token).toString('base64url');
      await store.add({ ...of, credentialId, mac, createdAt: p.now() });
      return { credentialId, token };
    },

    list: () => store.list(),
    revoke: (credentialId: string) => store.revoke(credentialId),

    /** Returns the credential of a token in force. @throws StoreUnavailableError */
    async of(token: string): Promise<StoredAdminCredential | undefined> {
      const [, random] = TOKEN.exec(token) ?? [];
      if (random === undefined) return undefined;
      const found = (await all()).get(idOf(random))?.();
      if (found === undefined) return undefined;
      const [mac, stored] = [macOf(found, token), Buffer.from(found.mac, 'base64url')];
      return stored.length === mac.length && timingSafeEqual(stored, mac) ? found : undefined;
    },
  };
}
