import { createPrivateKey, type KeyObject } from 'node:crypto';
import { compactDecrypt, type JWK } from 'jose';
import { z } from 'zod';
import { GatewayError, PosternUsageError } from './errors.ts';

/** What a sealed result belongs to: an elicitation that was redeemed, or a lasting credential. */
export type SealedFor =
  | { readonly elicitationId: string }
  | { readonly credentialId: string; readonly generation: number };

/** Opens what the gateway sealed to this MCP server. Both throw `GatewayError` `invalid_response` where that fails. */
export interface SealedOpener {
  accessToken(sealed: string, expected: { connectionId: string; generation: number }): Promise<string>;
  /** What a user typed: JSON, parsed and not yet checked. */
  typed(sealed: string, expected: SealedFor): Promise<unknown>;
}

const ACCESS_TOKEN_TYPE = 'postern-access-token+jwe';
const RESULT_TYPE = 'postern-result+jwe';
const CREDENTIAL_TYPE = 'postern-credential+jwe';

type KeyManagement = 'RSA-OAEP-256' | 'ECDH-ES';

/** RFC 7518 section 4.3 asks for 2048 bits or more. */
const MIN_RSA_BITS = 2048;
const AGREEMENT_CURVES = ['P-256', 'P-384', 'P-521', 'X25519'];

/**
 * @param mcpServerId checked against `aud` where this side knows its own id
 * @throws {PosternUsageError} `invalid_options` for a key that cannot decrypt
 */
export function createSealedOpener(jwks: readonly JWK[], mcpServerId: string | undefined): SealedOpener {
  if (jwks.length === 0) throw unfit();
  const keys = jwks.map(jwk => ({ key: privateKey(jwk), alg: keyManagement(jwk) }));

  // Anybody can encrypt to a public key; that it came over our authenticated connection is what makes it the gateway's. The
  // header keeps apart what the gateway sealed for different things.
  const audience = mcpServerId === undefined ? z.string() : z.literal(mcpServerId);

  async function open(sealed: string, header: z.ZodType): Promise<string> {
    for (const { key, alg } of keys) {
      const opened = await compactDecrypt(sealed, key, {
        // Left to the recipient by RFC 7516: of all that a JWE could be, what the gateway makes for this key.
        keyManagementAlgorithms: [alg],
        contentEncryptionAlgorithms: ['A256GCM'],
      }).catch(() => undefined); // Whatever is wrong, the next key is tried; the library's error may quote the header.
      if (opened === undefined) continue;
      if (!header.safeParse(opened.protectedHeader).success) break;
      return new TextDecoder().decode(opened.plaintext);
    }
    throw new GatewayError('invalid_response', 'What the gateway sealed could not be opened.');
  }

  return {
    accessToken: (sealed, { connectionId, generation }) =>
      open(
        sealed,
        z.object({
          typ: z.literal(ACCESS_TOKEN_TYPE),
          aud: audience,
          connectionId: z.literal(connectionId),
          generation: z.literal(generation),
        }),
      ),

    async typed(sealed, expected) {
      const typ = 'credentialId' in expected ? CREDENTIAL_TYPE : RESULT_TYPE;
      const subject = Object.fromEntries(Object.entries(expected).map(([name, id]) => [name, z.literal(id)]));
      const text = await open(sealed, z.object({ typ: z.literal(typ), aud: audience, ...subject }));
      try {
        return JSON.parse(text);
      } catch {
        // The cause would quote what was typed.
        throw new GatewayError('invalid_response', 'The gateway gave an answer outside its contract.');
      }
    },
  };
}

function keyManagement(jwk: JWK): KeyManagement {
  return jwk.kty === 'RSA' ? 'RSA-OAEP-256' : 'ECDH-ES';
}

function privateKey(jwk: JWK): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey({ format: 'jwk', key: { ...jwk } });
  } catch {
    // The error of node:crypto may quote members of the key.
    throw unfit();
  }
  const bits = key.asymmetricKeyDetails?.modulusLength;
  const canDecrypt =
    jwk.kty === 'RSA' ? bits !== undefined && bits >= MIN_RSA_BITS : AGREEMENT_CURVES.includes(jwk.crv ?? '');
  if (!canDecrypt) throw unfit();
  return key;
}

function unfit(): PosternUsageError {
  const kinds = `RSA of at least ${MIN_RSA_BITS} bits, EC (P-256, P-384, P-521) or OKP (X25519)`;
  return new PosternUsageError('invalid_options', `decryptionKey: private JWKs are needed: ${kinds}.`);
}
