import { createHash, randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, EmbeddedJWK, errors, jwtVerify } from 'jose';
import type { ProviderSwitches } from './open-id-provider-options.ts';
import type { TokenLedger } from './token-ledger.ts';

export interface ResourceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * The API of a test provider, at `/api/me`: 200 with account and scopes for a valid token, otherwise 401 with a challenge
 * (RFC 6750, RFC 9449). Access tokens bound to a key need a proof.
 */
export class ProtectedResource {
  readonly #ledger: TokenLedger;
  readonly #switches: ProviderSwitches;
  readonly #proofsSeen = new Set<string>();
  readonly #nonce = randomBytes(16).toString('base64url');

  constructor(p: { ledger: TokenLedger; switches: ProviderSwitches }) {
    this.#ledger = p.ledger;
    this.#switches = p.switches;
  }

  async answer(p: {
    method: string;
    url: URL;
    authorization: string | undefined;
    dpop: string | undefined;
  }): Promise<ResourceAnswer> {
    const [, scheme = '', value = ''] = /^(Bearer|DPoP) (\S+)$/i.exec(p.authorization ?? '') ?? [];
    const token = this.#ledger.accessToken(value);
    if (!token || !this.#ledger.isLive(value)) return refusal('Bearer', 'invalid_token');
    if (token.jkt !== undefined) {
      if (scheme.toLowerCase() !== 'dpop') return refusal('DPoP', 'invalid_token');
      const fault = await this.#faultOf(p.dpop, { ...p, accessToken: value, jkt: token.jkt });
      if (fault !== undefined) return refusal('DPoP', fault, this.#nonceHeader());
    } else if (scheme.toLowerCase() !== 'bearer') {
      return refusal('Bearer', 'invalid_token');
    }
    const { accountId: account, clientId, scopes, audience } = token;
    return { status: 200, headers: this.#nonceHeader(), body: { account, clientId, scopes, audience } };
  }

  #nonceHeader(): Record<string, string> {
    return this.#switches.dpopNonce ? { 'dpop-nonce': this.#nonce } : {};
  }

  /** RFC 9449 section 4.3. */
  async #faultOf(
    proof: string | undefined,
    expected: { method: string; url: URL; accessToken: string; jkt: string },
  ): Promise<'invalid_dpop_proof' | 'use_dpop_nonce' | undefined> {
    try {
      const { payload, protectedHeader } = await jwtVerify(proof ?? '', EmbeddedJWK, { typ: 'dpop+jwt' });
      const { htm, htu, ath, jti, iat, nonce } = payload;
      const isFor = htm === expected.method && htu === expected.url.origin + expected.url.pathname;
      const isBound =
        ath === createHash('sha256').update(expected.accessToken).digest('base64url') &&
        protectedHeader.jwk !== undefined &&
        (await calculateJwkThumbprint(protectedHeader.jwk)) === expected.jkt;
      if (!isFor || !isBound || jti === undefined || iat === undefined) return 'invalid_dpop_proof';
      if (this.#switches.dpopNonce && nonce !== this.#nonce) return 'use_dpop_nonce';
      if (this.#proofsSeen.has(jti)) return 'invalid_dpop_proof';
      this.#proofsSeen.add(jti);
      return undefined;
    } catch (error) {
      if (error instanceof errors.JOSEError) return 'invalid_dpop_proof';
      throw error;
    }
  }
}

function refusal(scheme: 'Bearer' | 'DPoP', error: string, headers: Record<string, string> = {}): ResourceAnswer {
  return { status: 401, headers: { 'www-authenticate': `${scheme} error="${error}"`, ...headers }, body: { error } };
}
