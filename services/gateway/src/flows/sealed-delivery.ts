import { CompactEncrypt, importJWK, type JWK } from 'jose';

/** What a sealed value is for; authenticated with it, so that one cannot be passed off as another. */
export type DeliveryContext = { readonly mcpServerId: string } & (
  | { readonly type: 'access-token'; readonly connectionId: string; readonly generation: number }
  | { readonly type: 'result'; readonly elicitationId: string }
  | { readonly type: 'credential'; readonly credentialId: string; readonly generation: number }
);

/** How the content key reaches each kind of key (RFC 7518 section 4). RSA1_5 is not among them. */
export function deliveryAlgorithm(jwk: JWK): 'RSA-OAEP-256' | 'ECDH-ES' | undefined {
  switch (jwk.kty) {
    case 'RSA':
      return 'RSA-OAEP-256';
    case 'EC':
      return jwk.crv === 'P-256' || jwk.crv === 'P-384' || jwk.crv === 'P-521' ? 'ECDH-ES' : undefined;
    case 'OKP':
      return jwk.crv === 'X25519' ? 'ECDH-ES' : undefined;
    default:
      return undefined;
  }
}

/** A compact JWE (RFC 7516) that only the holder of the MCP server's registered key opens. */
export async function sealFor(jwk: JWK, value: string, context: DeliveryContext): Promise<string> {
  const alg = deliveryAlgorithm(jwk);
  if (alg === undefined) throw new TypeError('the configuration admits only keys that can encrypt');
  const { mcpServerId: aud, type, ...what } = context;
  return new CompactEncrypt(new TextEncoder().encode(value))
    .setProtectedHeader({
      alg,
      enc: 'A256GCM',
      typ: `postern-${type}+jwe`,
      ...(jwk.kid === undefined ? {} : { kid: jwk.kid }),
      aud,
      ...what,
    })
    .encrypt(await importJWK(jwk, alg));
}
