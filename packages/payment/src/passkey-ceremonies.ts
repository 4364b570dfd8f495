import { hash } from 'node:crypto';
import type { Passkey, Subject } from '@postern/elicitation';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { COSEALG } from '@simplewebauthn/server/helpers';
import { PasskeyError } from './passkey-error.ts';
import { passkeyLabelOf } from './passkey-labels.ts';
import { parseAssertion, parseRegistration } from './passkey-response.ts';
import type { Passkeys, RelyingParty } from './passkeys.ts';

/** What every authenticator in use can do. RS256 is for Windows Hello on older TPMs. */
const supportedAlgorithmIDs = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256];
/** Five minutes, the least that WebAuthn (section 15.1) recommends where user verification is required. */
const TIMEOUT_MS = 300_000;

/** What `createPasskeys` loads when it is first asked. */
export function createCeremonies({ rpId, rpName, origin }: RelyingParty): Passkeys {
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
