/** Parses the browser's response to a WebAuthn ceremony, and makes all checks that need no key. */
import { decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers';
import { z } from 'zod';
import { PasskeyError } from './passkeys.ts';

const base64url = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .regex(/^[A-Za-z0-9_-]+$/);

/** WebAuthn section 4: a credential id has at most 1023 bytes. */
const credentialId = base64url(1364);
const clientDataJson = base64url(8192);
const envelope = { id: credentialId, rawId: credentialId, type: z.literal('public-key') };

const registrationSchema = z.object({
  ...envelope,
  response: z.object({
    clientDataJSON: clientDataJson,
    attestationObject: base64url(65_536),
    transports: z
      .array(z.string())
      .max(16)
      .default([])
      // Hints for the browser, from an open list. Malformed ones are dropped.
      .transform(transports => transports.filter(name => /^[a-z][a-z-]{0,31}$/.test(name))),
  }),
});

const assertionSchema = z.object({
  ...envelope,
  response: z.object({
    clientDataJSON: clientDataJson,
    authenticatorData: base64url(8192),
    signature: base64url(2048),
    /** Null or empty if the authenticator stores no account with the passkey. */
    userHandle: z
      .string()
      .max(88)
      .regex(/^[A-Za-z0-9_-]*$/)
      .nullish(),
  }),
});

const clientDataSchema = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
});

export type RegistrationResponse = z.infer<typeof registrationSchema>;
export type AssertionResponse = z.infer<typeof assertionSchema>;

export interface ExpectedCeremony {
  readonly origin: string;
  /** base64url. */
  readonly challenge: string;
}

/** @throws PasskeyError `invalid` (malformed, challenge, origin, attestation) */
export function parseRegistration(response: unknown, expected: ExpectedCeremony): RegistrationResponse {
  const parsed = parse(registrationSchema, response);
  checkClientData(parsed.response.clientDataJSON, expected);
  checkAttestation(parsed.response.attestationObject);
  return parsed;
}

/** @throws PasskeyError `invalid` (malformed, challenge, origin) */
export function parseAssertion(response: unknown, expected: ExpectedCeremony): AssertionResponse {
  const parsed = parse(assertionSchema, response);
  checkClientData(parsed.response.clientDataJSON, expected);
  return parsed;
}

function checkClientData(clientDataJSON: string, { origin, challenge }: ExpectedCeremony): void {
  const clientData = parse(clientDataSchema, jsonOf(clientDataJSON));
  if (clientData.challenge !== challenge) throw new PasskeyError('invalid', 'challenge');
  // Our page is never framed (frame-ancestors 'none'), so a response from a frame comes from another page.
  const isFramed = clientData.crossOrigin === true || clientData.topOrigin !== undefined;
  if (clientData.origin !== origin || isFramed) throw new PasskeyError('invalid', 'origin');
}

/**
 * Accepts only what the options request: no attestation, or a self attestation. Verifying an attestation with certificates would mean
 * fetching revocation lists from URLs that the browser chooses.
 */
function checkAttestation(attestationObject: string): void {
  let isExpected: boolean;
  try {
    const decoded = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
    const format = decoded.get('fmt');
    isExpected = format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
  } catch {
    throw new PasskeyError('invalid', 'malformed');
  }
  if (!isExpected) throw new PasskeyError('invalid', 'attestation');
}

function jsonOf(base64urlText: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64urlText, 'base64url')));
  } catch {
    throw new PasskeyError('invalid', 'malformed');
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new PasskeyError('invalid', 'malformed');
  return parsed.data;
}
