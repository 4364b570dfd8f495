import { samples } from '@postern/testkit/contract';
import type { ScriptCase } from './script-case.ts';

const newPasskey = () => samples.passkeyFor(samples.somebody(), { signCount: 7 });

/** Cases of the passkey scripts. */
export const passkeyScriptCases = {
  addPasskey: {
    async prepare() {
      const passkey = newPasskey();
      return stores => stores.passkeys.add(passkey, 1);
    },
    first: 'added',
    // Each call has its own name, and this is a second call.
    again: 'exists',
  },
  usePasskey: {
    async prepare(stores) {
      const passkey = newPasskey();
      await stores.passkeys.add(passkey, 1);
      const { subject, passkeyId } = passkey;
      return again => again.passkeys.use({ subject, passkeyId, signCount: 8, backedUp: true });
    },
    first: 'used',
    again: 'stale',
  },
  renamePasskey: {
    async prepare(stores) {
      const passkey = newPasskey();
      await stores.passkeys.add(passkey, 1);
      const { subject, passkeyId } = passkey;
      return again => again.passkeys.rename(subject, passkeyId, 'Key in the office');
    },
    first: true,
  },
  removePasskey: {
    async prepare(stores) {
      const { subject, passkeyId, ...rest } = newPasskey();
      await stores.passkeys.add({ subject, passkeyId, ...rest }, 1);
      return again => again.passkeys.remove(subject, passkeyId);
    },
    first: true,
    again: false,
    onlyOnce: true,
  },
  resetPasskeys: {
    async prepare(stores) {
      const passkey = newPasskey();
      await stores.passkeys.add(passkey, 1);
      return again => again.passkeys.reset(passkey.subject);
    },
    first: 1,
    again: 0,
  },
} satisfies Record<string, ScriptCase>;
