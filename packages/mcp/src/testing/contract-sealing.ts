import { CompactEncrypt, importJWK, type JWK } from 'jose';

export const MCP_SERVER_ID = 'issues';

/** Returns a compact JWE to the key that is registered for the MCP server, in the format of the gateway. */
export async function seal(
  plaintext: string,
  key: JWK | undefined,
  header: { readonly typ: string } & Readonly<Record<string, unknown>>,
): Promise<string> {
  if (key === undefined) throw new Error('no key is registered');
  const alg = key.kty === 'RSA' ? 'RSA-OAEP-256' : 'ECDH-ES';
  return await new CompactEncrypt(new TextEncoder().encode(plaintext))
    .setProtectedHeader({ alg, enc: 'A256GCM', aud: MCP_SERVER_ID, ...header })
    .encrypt(await importJWK(key, alg));
}
