import type { ClientRegistrationStore } from '@postern/authorization';
import type { Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { registrationContext } from '../sealing/seal-contexts.ts';

/** Stores the client registrations of the gateway, sealed, for all replicas. */
export function createClientRegistrations(p: {
  stores: Pick<Stores, 'clientRegistrations'>;
  vault: Vault;
}): ClientRegistrationStore {
  const { clientRegistrations } = p.stores;
  const open = (key: string, sealed: string) => p.vault.open(sealed, registrationContext(key));

  return {
    async read(key) {
      const sealed = await clientRegistrations.read(key);
      return sealed === undefined ? undefined : open(key, sealed);
    },

    async putIfAbsent(key, value) {
      const sealed = await p.vault.seal(value, registrationContext(key));
      return open(key, await clientRegistrations.putIfAbsent(key, sealed));
    },

    async remove(key, expected) {
      const sealed = await clientRegistrations.read(key);
      if (sealed !== undefined && (await open(key, sealed)) === expected) await clientRegistrations.remove(key, sealed);
    },
  };
}
