import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { NewPasskey, Passkey, Subject } from '@postern/elicitation';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { COSEALG } from '@simplewebauthn/server/helpers';
import { PasskeyError } from './passkey-error.ts';
import { passkeyLabelOf } from './passkey-labels.ts';
import { parseAssertion, parseRegistration } from './passkey-response.ts';

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

/** What every authenticator in use can do. RS256 is for Windows Hello on older TPMs. */
const supportedAlgorithmIDs = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256];
/** Five minutes, the least that WebAuthn (section 15.1) recommends where user verification is required. */
const TIMEOUT_MS = 300_000;

/**
 * @param p.rpId the domain that passkeys are bound to; changing it orphans every one of them
 * @param p.origin scheme, host and port of the page; compared exactly
 */
export function createPasskeys(p: {
  readonly rpId: string;
  readonly rpName: string;
  readonly origin: string;
}): Passkeys {
  const { rpId, rpName, origin } = p;
  return {
    async registrationOptions({ subject, displayName, challenge, existing }) {
      return await generateRegistrationOptions({
        rpID: rpId,
        rpName,
        userID: userHandleOf(subject),
        userName: displayName,
        userDisplayName: displayName,
        challenge: copied(challenge),
        timeout: TIMEOUT_MS,
        attestationType: 'none',
        excludeCredentials: existing.map(descriptorOf),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        supportedAlgorithmIDs,
      });
    },

    async verifyRegistration({ response, challenge, subject }) {
      const expected = { origin, challenge: textOf(challenge) };
      const parsed = parseRegistration(response, expected);
      const verified = await verifyRegistrationResponse({
        response: { ...parsed, clientExtensionResults: {} },
        expectedChallenge: expected.challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        requireUserPresence: true,
        requireUserVerification: true,
        supportedAlgorithmIDs,
      }).catch(rejected);
      if (!verified.verified) throw new PasskeyError('invalid', 'rejected');
      const { credential, credentialBackedUp, aaguid } = verified.registrationInfo;
      if (credential.id !== parsed.id) throw new PasskeyError('invalid', 'credential_id');
      return {
        passkeyId: credential.id,
        subject,
        publicKey: textOf(credential.publicKey),
        signCount: credential.counter,
        transports: parsed.response.transports,
        backedUp: credentialBackedUp,
        label: passkeyLabelOf(aaguid),
      };
    },

    async assertionOptions({ challenge, passkeys }) {
      return await generateAuthenticationOptions({
        rpID: rpId,
        challenge: copied(challenge),
        timeout: TIMEOUT_MS,
        userVerification: 'required',
        allowCredentials: passkeys.map(descriptorOf),
      });
    },

    async verifyAssertion({ response, challenge, passkeys }) {
      const expected = { origin, challenge: textOf(challenge) };
      const { response: assertion, ...parsed } = parseAssertion(response, expected);
      const passkey = passkeys.find(({ passkeyId }) => passkeyId === parsed.id);
      if (passkey === undefined) throw new PasskeyError('unknown_passkey');
      const { userHandle, ...signed } = assertion;
      // WebAuthn section 7.2 step 6. Authenticators that keep no account with the passkey send none.
      if (userHandle && userHandle !== textOf(userHandleOf(passkey.subject)))
        throw new PasskeyError('invalid', 'user_handle');
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: { ...parsed, response: signed, clientExtensionResults: {} },
        expectedChallenge: expected.challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        credential: {
          id: passkey.passkeyId,
          publicKey: copied(Buffer.from(passkey.publicKey, 'base64url')),
          counter: passkey.signCount,
        },
        requireUserVerification: true,
      }).catch(rejected);
      if (!verified) throw new PasskeyError('invalid', 'rejected');
      const { newCounter, credentialBackedUp } = authenticationInfo;
      return { passkeyId: passkey.passkeyId, signCount: newCounter, backedUp: credentialBackedUp };
    },
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

/** Identifies a person to their authenticator without saying who it is (WebAuthn section 14.6.1). The same on every replica. */
function userHandleOf({ issuer, subject }: Subject): Uint8Array<ArrayBuffer> {
  return copied(hash('sha256', JSON.stringify(['postern passkey user', issuer, subject]), 'buffer'));
}

function descriptorOf({ passkeyId, transports }: Passkey) {
  return { id: passkeyId, transports: [...transports] };
}

/** The library's errors quote what the browser sent, and none of them is our bug: it throws for whatever does not verify. */
function rejected(): never {
  throw new PasskeyError('invalid', 'rejected');
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
const copied = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);
