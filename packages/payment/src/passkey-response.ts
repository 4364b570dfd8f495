/** What a browser sends after a WebAuthn ceremony, read and checked as far as that is possible without a key. */
import { decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers';
import { z } from 'zod';
import { PasskeyError } from './passkey-error.ts';

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
      // Hints for the browser, of a list that grows. What does not look like one is left out.
      .transform(transports => transports.filter(name => /^[a-z][a-z-]{0,31}$/.test(name))),
  }),
});

const assertionSchema = z.object({
  ...envelope,
  response: z.object({
    clientDataJSON: clientDataJson,
    authenticatorData: base64url(8192),
    signature: base64url(2048),
    /** Null or empty where an authenticator keeps no account with the passkey. */
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
  // Our page is never framed (frame-ancestors 'none'): what comes out of a frame was not made by it.
  const isFramed = clientData.crossOrigin === true || clientData.topOrigin !== undefined;
  if (clientData.origin !== origin || isFramed) throw new PasskeyError('invalid', 'origin');
}

/**
 * Only what was asked for: no attestation, or one the authenticator made with the new key itself. Verifying any other means
 * following the addresses of revocation lists in certificates that a browser brought, that is, fetching whatever it names.
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
