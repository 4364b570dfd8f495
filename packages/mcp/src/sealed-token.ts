import type { AccessTokenBody } from '@postern/api';
import { compactDecrypt, importJWK, type JWK } from 'jose';
import { z } from 'zod';
import { GatewayError, PosternUsageError } from './errors.ts';

/** Opens access tokens that the gateway sealed to this MCP server. */
export interface TokenOpener {
  /** @throws {GatewayError} `invalid_response` when it cannot be opened or is meant for another connection */
  open(body: AccessTokenBody, connectionId: string): Promise<string>;
}

/** Left to the recipient by RFC 7516: of all that a JWE could be, what the gateway makes. */
const ALGORITHMS = ['RSA-OAEP-256', 'ECDH-ES'];

const headerSchema = z.object({
  typ: z.literal('postern-access-token+jwe'),
  connectionId: z.string(),
  generation: z.int(),
});

/** @throws {PosternUsageError} `invalid_options` for a key that is not private or of another kind */
export function createTokenOpener(key: JWK): TokenOpener {
  const alg = key.kty === 'RSA' ? 'RSA-OAEP-256' : 'ECDH-ES';
  if (typeof key.d !== 'string' || !['RSA', 'EC', 'OKP'].includes(key.kty ?? ''))
    throw new PosternUsageError('invalid_options', 'decryptionKey: a private RSA, EC or OKP key as JWK is needed.');
  let imported: ReturnType<typeof importJWK> | undefined;

  return {
    async open(body, connectionId) {
      if (!('sealedAccessToken' in body)) throw unusable();
      try {
        imported ??= importJWK(key, alg);
        const { plaintext, protectedHeader } = await compactDecrypt(body.sealedAccessToken, await imported, {
          keyManagementAlgorithms: ALGORITHMS,
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        const header = headerSchema.parse(protectedHeader);
        // Anybody can encrypt to a public key; that it came over our authenticated connection is what makes it the gateway's. This
        // keeps apart what the gateway sealed for different connections.
        if (header.connectionId !== connectionId || header.generation !== body.generation) throw unusable();
        return new TextDecoder().decode(plaintext);
      } catch {
        // The library's own error may quote the header; ours says all there is to say.
        throw unusable();
      }
    },
  };
}

function unusable(): GatewayError {
  return new GatewayError('invalid_response', 'The sealed access token could not be opened.');
}
