import { hash } from 'node:crypto';
import type { Passkey, Subject } from '@postern/elicitation';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { COSEALG } from '@simplewebauthn/server/helpers';
import { parseAssertion, parseRegistration } from './passkey-response.ts';
import type { Passkeys, RelyingParty } from './passkeys.ts';
import { PasskeyError } from './passkeys.ts';

/** Algorithms that cover all authenticators in use. RS256 is for Windows Hello on older TPMs. */
const supportedAlgorithmIDs = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256];
/** Five minutes: the minimum that WebAuthn section 15.1 recommends with user verification. */
const TIMEOUT_MS = 300_000;

/** Implements `Passkeys` over the WebAuthn library. `createPasskeys` loads this module on first use. */
export function createCeremonies({ rpId, rpName, origin }: RelyingParty): Passkeys {
  return {
    async registrationOptions({ subject, displayName, challenge, existing }) {
      return await generateRegistrationOptions({
        rpID: rpId,
        rpName,
        userID: userHandleOf(subject),
        userName: displayName,
        userDisplayName: displayName,
        challenge: toBytes(challenge),
        timeout: TIMEOUT_MS,
        attestationType: 'none',
        excludeCredentials: existing.map(descriptorOf),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        supportedAlgorithmIDs,
      });
    },

    async verifyRegistration({ response, challenge, subject }) {
      const expected = { origin, challenge: base64urlOf(challenge) };
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
        publicKey: base64urlOf(credential.publicKey),
        signCount: credential.counter,
        transports: parsed.response.transports,
        backedUp: credentialBackedUp,
        label: passkeyLabelOf(aaguid),
      };
    },

    async assertionOptions({ challenge, passkeys }) {
      return await generateAuthenticationOptions({
        rpID: rpId,
        challenge: toBytes(challenge),
        timeout: TIMEOUT_MS,
        userVerification: 'required',
        allowCredentials: passkeys.map(descriptorOf),
      });
    },

    async verifyAssertion({ response, challenge, passkeys }) {
      const expected = { origin, challenge: base64urlOf(challenge) };
      const { response: assertion, ...parsed } = parseAssertion(response, expected);
      const passkey = passkeys.find(({ passkeyId }) => passkeyId === parsed.id);
      if (passkey === undefined) throw new PasskeyError('unknown_passkey');
      const { userHandle, ...signed } = assertion;
      // WebAuthn section 7.2 step 6. Authenticators that store no account with the passkey send no user handle.
      if (userHandle && userHandle !== base64urlOf(userHandleOf(passkey.subject)))
        throw new PasskeyError('invalid', 'user_handle');
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: { ...parsed, response: signed, clientExtensionResults: {} },
        expectedChallenge: expected.challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        credential: {
          id: passkey.passkeyId,
          publicKey: toBytes(Buffer.from(passkey.publicKey, 'base64url')),
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

/** Identifies a user to their authenticator without personal data (WebAuthn section 14.6.1). Equal on all replicas. */
function userHandleOf({ issuer, subject }: Subject): Uint8Array<ArrayBuffer> {
  return toBytes(hash('sha256', JSON.stringify(['postern passkey user', issuer, subject]), 'buffer'));
}

function descriptorOf({ passkeyId, transports }: Passkey) {
  return { id: passkeyId, transports: [...transports] };
}

/** Replaces the library's errors, which quote the browser's response. It throws for any response that does not verify. */
function rejected(): never {
  throw new PasskeyError('invalid', 'rejected');
}

const base64urlOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
const toBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/**
 * Names of passkey providers, by AAGUID. Without attestation the AAGUID is unverified, so it only labels a passkey for its owner. Proper
 * names, equal in every language.
 */
const labels: Readonly<Record<string, string>> = {
  'fbfc3007-154e-4ecc-8c0b-6e020557d7bd': 'iCloud Keychain',
  'dd4ec289-e01d-41c9-bb89-70fa845d4bf2': 'iCloud Keychain',
  'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4': 'Google Password Manager',
  'adce0002-35bc-c60a-648b-0b25f1f05503': 'Chrome on Mac',
  '08987058-cadc-4b81-b6e1-30de50dcbe96': 'Windows Hello',
  '9ddd1817-af5a-4672-a2b9-3e3dd95000a9': 'Windows Hello',
  '6028b017-b1d4-4c02-b4b3-afcdafc96bb2': 'Windows Hello',
  '53414d53-554e-4700-0000-000000000000': 'Samsung Pass',
  'bada5566-a7aa-401f-bd96-45619a55120d': '1Password',
  'd548826e-79b4-db40-a3d8-11116f7e8349': 'Bitwarden',
  '531126d6-e717-415c-9320-3d9aa6981239': 'Dashlane',
};

function passkeyLabelOf(aaguid: string): string {
  return (Object.hasOwn(labels, aaguid) ? labels[aaguid] : undefined) ?? 'Passkey';
}
