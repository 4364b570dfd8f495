/**
 * How long whoever asks a provider is alone with it, in milliseconds. What is asked takes at most two requests (a DPoP nonce
 * challenge is answered once; a refresh and an access token are revoked one after the other); half of one more is margin.
 */
export function providerLeaseMs(requestLimitMs: number): number {
  return Math.ceil(requestLimitMs * 2.5);
}
