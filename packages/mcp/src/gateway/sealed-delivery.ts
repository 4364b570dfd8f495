import { createPrivateKey, type KeyObject } from 'node:crypto';
import { compactDecrypt, type JWK } from 'jose';
import { z } from 'zod/v4';
import { GatewayError, invalidOptions, jsonOf, type PosternUsageError } from '../errors.ts';

/** Owner of a sealed result: a redeemed elicitation, or a lasting credential. */
export type SealedFor =
  | { readonly elicitationId: string }
  | { readonly credentialId: string; readonly generation: number };

/** Decrypts values that the gateway sealed for this MCP server. Both methods throw `GatewayError` `invalid_response` on failure. */
export interface SealedOpener {
  accessToken(sealed: string, expected: { connectionId: string; generation: number }): Promise<string>;
  /** The user's input as parsed JSON, not validated. */
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
 * @param mcpServerId compared with `aud` if this MCP server's id is known
 * @throws {PosternUsageError} `invalid_options` for a key that cannot decrypt
 */
export function createSealedOpener(jwks: readonly JWK[], mcpServerId: string | undefined): SealedOpener {
  if (jwks.length === 0) throw unfit();
  const keys = jwks.map(jwk => ({ key: privateKey(jwk), alg: keyManagement(jwk) }));

  // Anyone can encrypt to a public key; the authenticated connection shows that the value comes from the gateway. The header binds the
  // value to its purpose.
  const audience = mcpServerId === undefined ? z.string() : z.literal(mcpServerId);

  async function open(sealed: string, header: z.ZodType): Promise<string> {
    for (const { key, alg } of keys) {
      const opened = await compactDecrypt(sealed, key, {
        // Accepts only the algorithms that the gateway uses with this key.
        keyManagementAlgorithms: [alg],
        contentEncryptionAlgorithms: ['A256GCM'],
      }).catch(() => undefined); // Tries the next key on any error; the library's error may quote the header.
      if (opened === undefined) continue;
      if (!header.safeParse(opened.protectedHeader).success) break;
      return new TextDecoder().decode(opened.plaintext);
    }
    throw new GatewayError('invalid_response', 'Cannot decrypt a value that the gateway sealed.');
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
      const typed = jsonOf(await open(sealed, z.object({ typ: z.literal(typ), aud: audience, ...subject })));
      if (typed === undefined) throw new GatewayError('invalid_response', 'The gateway returned an invalid response.');
      return typed;
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
  return invalidOptions(`decryptionKey: private JWKs are needed: ${kinds}.`);
}

/**
 * Returns the user's input, decrypted if it is sealed. With a decryption key, refuses unsealed input: a proxy must not get it by
 * removing `sealed` from the request.
 */
export async function typedOf(
  sealedOpener: SealedOpener | undefined,
  owner: SealedFor,
  body: object | undefined,
): Promise<unknown> {
  const sealed = sealedIn(body);
  if (sealed !== undefined) {
    if (sealedOpener !== undefined) return await sealedOpener.typed(sealed, owner);
    throw invalidOptions('The gateway seals what users type: set decryptionKey.');
  }
  if (sealedOpener !== undefined)
    throw new GatewayError('invalid_response', 'The gateway returned unsealed user input.');
  if (body !== undefined && 'values' in body) return body.values;
  return body !== undefined && 'content' in body ? body.content : undefined;
}

function sealedIn(body: object | undefined): string | undefined {
  if (body !== undefined && 'sealedValues' in body) return String(body.sealedValues);
  return body !== undefined && 'sealedResult' in body ? String(body.sealedResult) : undefined;
}
