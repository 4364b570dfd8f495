import { createPrivateKey, type KeyObject } from 'node:crypto';
import { compactDecrypt, type JWK } from 'jose';
import { z } from 'zod';
import { GatewayError, PosternUsageError } from './errors.ts';

/** Opens access tokens that the gateway sealed to this MCP server. */
export interface TokenOpener {
  /** @throws {GatewayError} `invalid_response` when it cannot be opened or is meant for something else */
  open(sealedAccessToken: string, expected: { connectionId: string; generation: number }): Promise<string>;
}

type KeyManagement = 'RSA-OAEP-256' | 'ECDH-ES';

/** RFC 7518 section 4.3 asks for 2048 bits or more. */
const MIN_RSA_BITS = 2048;
const AGREEMENT_CURVES = ['P-256', 'P-384', 'P-521', 'X25519'];

/**
 * @param mcpServerId checked against `aud` where this side knows its own id
 * @throws {PosternUsageError} `invalid_options` for a key that cannot decrypt
 */
export function createTokenOpener(jwks: readonly JWK[], mcpServerId: string | undefined): TokenOpener {
  if (jwks.length === 0) throw unfit();
  const keys = jwks.map(jwk => ({ key: privateKey(jwk), alg: keyManagement(jwk) }));

  // Anybody can encrypt to a public key; that it came over our authenticated connection is what makes it the gateway's. The
  // header keeps apart what the gateway sealed for different connections.
  const headerSchema = z.object({
    typ: z.literal('postern-access-token+jwe'),
    aud: mcpServerId === undefined ? z.string() : z.literal(mcpServerId),
    connectionId: z.string(),
    generation: z.int(),
  });

  return {
    async open(sealedAccessToken, { connectionId, generation }) {
      for (const { key, alg } of keys) {
        const opened = await compactDecrypt(sealedAccessToken, key, {
          // Left to the recipient by RFC 7516: of all that a JWE could be, what the gateway makes for this key.
          keyManagementAlgorithms: [alg],
          contentEncryptionAlgorithms: ['A256GCM'],
        }).catch(() => undefined); // Whatever is wrong, the next key is tried; the library's error may quote the header.
        if (opened === undefined) continue;
        const header = headerSchema.safeParse(opened.protectedHeader);
        if (!header.success || header.data.connectionId !== connectionId || header.data.generation !== generation)
          break;
        return new TextDecoder().decode(opened.plaintext);
      }
      throw new GatewayError('invalid_response', 'The sealed access token could not be opened.');
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
