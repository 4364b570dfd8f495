import { isIP } from 'node:net';
import type { NewPasskey, Passkey, Subject } from '@postern/elicitation';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';

/** What a verified assertion says. `PasskeyStore.use` decides whether it counts: nothing is remembered here. */
export interface VerifiedAssertion {
  readonly passkeyId: string;
  readonly signCount: number;
  readonly backedUp: boolean;
}

/**
 * WebAuthn ceremonies for approvals. The challenge is the caller's (`passkeyChallenge`), who also sees to it that it is used once;
 * everything here is a pure function of what it is given.
 *
 * User verification is always required: presence alone is a touch that anybody can give.
 */
export interface Passkeys {
  /** `existing` are not enrolled a second time. For `navigator.credentials.create`. */
  registrationOptions(p: {
    readonly subject: Subject;
    /** What the person recognises the account by, in the list of their authenticator. */
    readonly displayName: string;
    readonly challenge: Uint8Array;
    readonly existing: readonly Passkey[];
  }): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /**
   * An enrolment approves nothing: without attestation nothing is signed over the challenge. An assertion follows.
   *
   * @throws PasskeyError `invalid`
   */
  verifyRegistration(p: {
    readonly response: unknown;
    readonly challenge: Uint8Array;
    readonly subject: Subject;
  }): Promise<NewPasskey>;
  /** For `navigator.credentials.get`. */
  assertionOptions(p: {
    readonly challenge: Uint8Array;
    readonly passkeys: readonly Passkey[];
  }): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /**
   * @param p.passkeys those of the person who must approve, and nobody else's
   * @throws PasskeyError `unknown_passkey` when it is none of them, `invalid` for everything else
   */
  verifyAssertion(p: {
    readonly response: unknown;
    readonly challenge: Uint8Array;
    readonly passkeys: readonly Passkey[];
  }): Promise<VerifiedAssertion>;
}

export interface RelyingParty {
  /** The domain that passkeys are bound to; changing it orphans every one of them. */
  readonly rpId: string;
  readonly rpName: string;
  /** Scheme, host and port of the page; compared exactly. */
  readonly origin: string;
}

/** The WebAuthn library is the largest of a gateway's after the payment processor's: it is loaded by the first ceremony. */
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

/**
 * The domain that passkeys made at a public URL are bound to; undefined where there can be none, because an IP address is no
 * domain (WebAuthn section 5.1.3).
 */
export function passkeyRpIdOf(publicUrl: string): string | undefined {
  const { hostname } = new URL(publicUrl);
  return hostname.startsWith('[') || isIP(hostname) !== 0 ? undefined : hostname;
}
