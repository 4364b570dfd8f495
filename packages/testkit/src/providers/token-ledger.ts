import { createHash } from 'node:crypto';

/** Returns the digest by which the ledger identifies a token. */
export function tokenDigest(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** Whether a response is not sent yet, was sent, or was lost. */
export type AnswerFate = 'pending' | 'sent' | 'lost';

/** The exchange of a code or device code. */
export interface ExchangeEntry {
  readonly grantType: string;
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly scopes: readonly string[];
  readonly answer: AnswerFate;
}

/** A refresh that the provider carried out, even if its response was lost. Identifies tokens by their digest. */
export interface RefreshEntry {
  /** 1 for the first refresh after the exchange. */
  readonly generation: number;
  readonly refreshToken: string;
  /** Absent when the refresh token was not rotated. */
  readonly successor?: string;
  readonly accessToken: string;
  readonly scopes: readonly string[];
  readonly answer: AnswerFate;
}

export interface GrantLog {
  readonly grantId: string;
  readonly accountId: string;
  readonly clientId: string;
  readonly status: 'live' | 'revoked';
  readonly exchanges: readonly ExchangeEntry[];
  readonly refreshes: readonly RefreshEntry[];
  /** Number of refreshes that returned another refresh token. */
  readonly rotations: number;
  /** Number of repeated responses to a refresh token in its grace. Not counted as refreshes. */
  readonly graceAnswers: number;
  /** Number of refused refreshes with a consumed refresh token. */
  readonly reuses: number;
}

/**
 * `current`: valid, and the newest since its exchange. `superseded`: valid, but a refresh has issued a newer one, whose response
 * may have been lost. Tokens with any other status are rejected.
 */
export type AccessTokenStatus = 'current' | 'superseded' | 'expired' | 'revoked' | 'unknown';

export interface AccessTokenRecord {
  readonly value: string;
  readonly grantId: string;
  /** Number of the exchange from which it descends. */
  readonly chain: number;
  readonly accountId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly expiresAt: number;
  /** Thumbprint of the DPoP key that it is bound to. */
  readonly jkt?: string;
  revoked: boolean;
  superseded: boolean;
}

export interface IssuedTokens {
  readonly grantType: string;
  readonly grantId: string;
  readonly accountId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly jkt?: string;
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresIn: number;
  /** The refresh token that was used. */
  readonly usedRefreshToken?: string;
}

function settler(entry: { answer: AnswerFate }): (fate: AnswerFate) => void {
  return fate => {
    entry.answer = fate;
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type MutableGrant = Mutable<Omit<GrantLog, 'exchanges' | 'refreshes'>> & {
  exchanges: Mutable<ExchangeEntry>[];
  refreshes: Mutable<RefreshEntry>[];
};

/** Records all issued tokens and their status. Independent of the provider's storage, so it covers JWT access tokens too. */
export class TokenLedger {
  readonly #grants = new Map<string, MutableGrant>();
  readonly #accessTokens = new Map<string, AccessTokenRecord>();
  readonly #refreshTokens = new Map<string, { grantId: string; chain: number; generation: number }>();
  #chains = 0;

  /** Returns all grants with tokens, oldest first; of one client, if given. */
  grants(clientId?: string): readonly GrantLog[] {
    return [...this.#grants.values()].filter(grant => clientId === undefined || grant.clientId === clientId);
  }

  grant(grantId: string): GrantLog | undefined {
    return this.#grants.get(grantId);
  }

  /** Returns the grant of an access or refresh token. */
  grantOf(token: string): GrantLog | undefined {
    const digest = tokenDigest(token);
    const grantId = (this.#accessTokens.get(digest) ?? this.#refreshTokens.get(digest))?.grantId;
    return grantId === undefined ? undefined : this.#grants.get(grantId);
  }

  statusOf(accessToken: string): AccessTokenStatus {
    const record = this.accessToken(accessToken);
    if (!record) return 'unknown';
    if (record.revoked) return 'revoked';
    if (record.expiresAt <= Date.now()) return 'expired';
    return record.superseded ? 'superseded' : 'current';
  }

  /** Whether a protected resource accepts this access token now. */
  isLive(accessToken: string): boolean {
    const status = this.statusOf(accessToken);
    return status === 'current' || status === 'superseded';
  }

  accessToken(value: string): AccessTokenRecord | undefined {
    return this.#accessTokens.get(tokenDigest(value));
  }

  kindOf(token: string): 'access_token' | 'refresh_token' | 'unknown' {
    const digest = tokenDigest(token);
    if (this.#accessTokens.has(digest)) return 'access_token';
    return this.#refreshTokens.has(digest) ? 'refresh_token' : 'unknown';
  }

  /** Records issued tokens. Returns the access tokens that they supersede, and a function that records the fate of the response. */
  record(issued: IssuedTokens): { superseded: AccessTokenRecord[]; settle(fate: AnswerFate): void } {
    const grant = this.#grantFor(issued);
    grant.status = 'live';
    const used =
      issued.usedRefreshToken === undefined ? undefined : this.#refreshTokens.get(tokenDigest(issued.usedRefreshToken));
    const chain = used?.chain ?? this.#nextChain();
    const generation = (used?.generation ?? 0) + (issued.usedRefreshToken === undefined ? 0 : 1);
    const superseded = [...this.#accessTokens.values()].filter(token => token.chain === chain && !token.superseded);
    for (const token of superseded) token.superseded = true;

    const { accessToken: value, grantId, accountId, clientId, scopes, audience, jkt } = issued;
    this.#accessTokens.set(tokenDigest(value), {
      value,
      grantId,
      chain,
      accountId,
      clientId,
      scopes,
      audience,
      expiresAt: Date.now() + issued.expiresIn * 1000,
      ...(jkt !== undefined && { jkt }),
      revoked: false,
      superseded: false,
    });
    const tokens = { accessToken: tokenDigest(value), scopes };
    const newest = issued.refreshToken ?? issued.usedRefreshToken;
    if (newest !== undefined) this.#refreshTokens.set(tokenDigest(newest), { grantId, chain, generation });

    if (issued.usedRefreshToken === undefined) {
      const entry: Mutable<ExchangeEntry> = {
        grantType: issued.grantType,
        ...tokens,
        ...(issued.refreshToken !== undefined && { refreshToken: tokenDigest(issued.refreshToken) }),
        answer: 'pending',
      };
      grant.exchanges.push(entry);
      return { superseded, settle: settler(entry) };
    }
    const isRotated = issued.refreshToken !== undefined && issued.refreshToken !== issued.usedRefreshToken;
    if (isRotated) grant.rotations += 1;
    const entry: Mutable<RefreshEntry> = {
      generation,
      refreshToken: tokenDigest(issued.usedRefreshToken),
      ...(isRotated && { successor: tokenDigest(issued.refreshToken) }),
      ...tokens,
      answer: 'pending',
    };
    grant.refreshes.push(entry);
    return { superseded, settle: settler(entry) };
  }

  recordGraceAnswer(refreshToken: string): void {
    const grant = this.#mutableGrantOf(refreshToken);
    if (grant) grant.graceAnswers += 1;
  }

  /** Counts a refused refresh as a reuse if its refresh token had been rotated. */
  recordRefusal(refreshToken: string): void {
    const grant = this.#mutableGrantOf(refreshToken);
    const digest = tokenDigest(refreshToken);
    if (grant?.refreshes.some(entry => entry.refreshToken === digest && entry.successor !== undefined)) {
      grant.reuses += 1;
    }
  }

  revokeGrant(grantId: string): void {
    const grant = this.#grants.get(grantId);
    if (grant) grant.status = 'revoked';
    for (const token of this.#accessTokens.values()) if (token.grantId === grantId) token.revoked = true;
  }

  endAccessToken(accessToken: string): void {
    const token = this.#accessTokens.get(tokenDigest(accessToken));
    if (token) token.revoked = true;
  }

  #nextChain(): number {
    this.#chains += 1;
    return this.#chains;
  }

  #mutableGrantOf(refreshToken: string): MutableGrant | undefined {
    const known = this.#refreshTokens.get(tokenDigest(refreshToken));
    return known && this.#grants.get(known.grantId);
  }

  #grantFor({ grantId, accountId, clientId }: IssuedTokens): MutableGrant {
    const known = this.#grants.get(grantId);
    if (known) return known;
    const grant: MutableGrant = {
      grantId,
      accountId,
      clientId,
      status: 'live',
      exchanges: [],
      refreshes: [],
      rotations: 0,
      graceAnswers: 0,
      reuses: 0,
    };
    this.#grants.set(grantId, grant);
    return grant;
  }
}
