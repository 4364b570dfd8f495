import { CompactEncrypt, importJWK, type JWK } from 'jose';
import { deliveryAlgorithm } from '../platform/config/json-web-keys.ts';

/** Identifies a sealed value. Authenticated with it, so that one value cannot replace another. */
export type DeliveryContext = { readonly mcpServerId: string } & (
  | { readonly type: 'access-token'; readonly connectionId: string; readonly generation: number }
  | { readonly type: 'result'; readonly elicitationId: string }
  | { readonly type: 'credential'; readonly credentialId: string; readonly generation: number }
);

/** Encrypts a value as a compact JWE (RFC 7516) for the registered key of the MCP server. */
export async function sealFor(jwk: JWK, value: string, context: DeliveryContext): Promise<string> {
  const alg = deliveryAlgorithm(jwk);
  if (alg === undefined) throw new TypeError('the configuration accepts only encryption keys');
  const { mcpServerId: aud, type, ...what } = context;
  return new CompactEncrypt(new TextEncoder().encode(value))
    .setProtectedHeader({
      alg,
      enc: 'A256GCM',
      typ: `postern-${type}+jwe`,
      kid: jwk.kid,
      aud,
      ...what,
    })
    .encrypt(await importJWK(jwk, alg));
}
