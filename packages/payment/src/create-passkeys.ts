import type { Passkeys, RelyingParty } from './passkeys.ts';

/** Creates the WebAuthn ceremonies. The first ceremony loads the library, which is large. */
export function createPasskeys(relyingParty: RelyingParty): Passkeys {
  let loading: Promise<Passkeys> | undefined;
  const ceremonies = () => {
    loading ??= import('./passkey-ceremonies.ts').then(module => module.createCeremonies(relyingParty));
    return loading;
  };
  return {
    registrationOptions: async p => (await ceremonies()).registrationOptions(p),
    verifyRegistration: async p => (await ceremonies()).verifyRegistration(p),
    assertionOptions: async p => (await ceremonies()).assertionOptions(p),
    verifyAssertion: async p => (await ceremonies()).verifyAssertion(p),
  };
}
