import * as client from 'openid-client';
import { AuthorizationError, type AuthorizationErrorCode, fromLibraryError } from './authorization-error.ts';
import type { ResolvedClient } from './client-registration.ts';
import { type DpopKey, dpopKeyPair } from './dpop.ts';
import { type JsonMembers, jsonMembers, memberAt } from './foreign-document.ts';
import type { OauthClient } from './oauth-client.ts';
import type { ProviderConfig } from './provider-config.ts';
import type { TokenGrant } from './token-request.ts';

/** The user's account at the provider. */
export interface Account {
  /** Identifies the account at the provider and never changes. */
  readonly id: string;
  /** Display name: plain text, not unique, never an identifier. */
  readonly name?: string;
}

/**
 * Returns the account that the user connected, from the token response, the ID token or userinfo, as configured. Undefined if none
 * is configured, or userinfo refuses the access token.
 *
 * @throws {AuthorizationError} `invalid_token_response`, `invalid_id_token`, `invalid_userinfo`, `provider_unavailable`,
 *   `outbound_…`.
 */
export async function connectedAccount(
  oauthClient: OauthClient,
  at: ResolvedClient,
  p: { config: ProviderConfig['account']; grant: TokenGrant; dpopKey: DpopKey | undefined },
): Promise<Account | undefined> {
  const { response, members, claims } = p.grant;
  if (p.config === undefined) return undefined;
  if (p.config.from === 'token_response') return accountFrom(members, p.config);
  if (p.config.from === 'id_token') {
    if (claims === undefined) throw new AuthorizationError('invalid_id_token');
    return accountFrom(claims, p.config);
  }
  const profile = await profileOf(oauthClient, at, response.access_token, p.dpopKey);
  // A token for another API of the provider is no use here, but good there.
  if (profile === undefined) return undefined;
  // OpenID Connect Core 5.3.2: both must have the same subject.
  if (claims !== undefined && profile['sub'] !== claims.sub)
    throw new AuthorizationError('invalid_userinfo', { claim: 'sub' });
  return accountFrom(profile, p.config);
}

/** Reads the userinfo endpoint (OpenID Connect Core 5.3). @throws {AuthorizationError} */
export async function userinfo(...of: Parameters<typeof profileOf>): Promise<JsonMembers> {
  const profile = await profileOf(...of);
  if (profile === undefined) throw new AuthorizationError('invalid_userinfo');
  return profile;
}

/** Returns undefined if the userinfo endpoint refuses the access token. @throws {AuthorizationError} */
async function profileOf(
  oauthClient: OauthClient,
  at: ResolvedClient,
  accessToken: string,
  dpopKey?: DpopKey,
): Promise<JsonMembers | undefined> {
  const endpoint = at.metadata.userinfo_endpoint;
  if (endpoint === undefined) throw new AuthorizationError('invalid_userinfo');
  const keyPair = dpopKey && (await dpopKeyPair(dpopKey));
  try {
    return await oauthClient.run(at, { keyPair }, async ({ configuration, dpop }) => {
      const answer = await client.fetchProtectedResource(
        configuration,
        accessToken,
        new URL(endpoint),
        'GET',
        undefined,
        undefined,
        dpop,
      );
      if (answer.status === 401 || answer.status === 403) return undefined;
      const members = answer.ok ? jsonMembers(await answer.text()) : undefined;
      if (members === undefined) throw new AuthorizationError('invalid_userinfo');
      return members;
    });
  } catch (error) {
    // The provider refuses the access token here, not the client.
    if (error instanceof client.WWWAuthenticateChallengeError) return undefined;
    throw fromLibraryError(error, 'invalid_userinfo');
  }
}

/**
 * Reads the account from ID token claims or a userinfo response.
 *
 * @throws {AuthorizationError} `invalid_userinfo`, `invalid_id_token` or `invalid_token_response` if the id is missing.
 * @internal exported for tests
 */
export function accountFrom(
  members: Readonly<Record<string, unknown>>,
  { from, idClaim, nameClaim }: NonNullable<ProviderConfig['account']>,
): Account {
  const id = identifier(claimOf(members, idClaim));
  if (id === undefined) throw new AuthorizationError(faultOf[from], { claim: idClaim });
  const name = nameClaim === undefined ? undefined : displayText(claimOf(members, nameClaim));
  return { id, ...(name !== undefined && { name }) };
}

const faultOf = {
  id_token: 'invalid_id_token',
  userinfo: 'invalid_userinfo',
  token_response: 'invalid_token_response',
} as const satisfies Record<NonNullable<ProviderConfig['account']>['from'], AuthorizationErrorCode>;

/**
 * Returns the texts of a claim that holds one text or a list of them, such as the roles or groups of a user. Members that are no text,
 * and texts longer than any that an operator can configure, are left out.
 */
export function textsOfClaim(claims: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  return [claimOf(claims, name)]
    .flat()
    .filter(value => typeof value === 'string' && value !== '' && value.length <= maxClaimLength)
    .map(String);
}

/** Reads a claim by name or path. Names may contain dots, for example URLs. */
function claimOf(members: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : memberAt(members, name);
}

/** Identifiers are strings, at some providers (GitHub) whole numbers. */
function identifier(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '' && value.length <= 500) return value;
  if (Number.isSafeInteger(value)) return String(value);
  return undefined;
}

const maxClaimLength = 255;

/**
 * Builds the subject from the configured claims: the value of a single claim, or several values joined by `+` in the
 * configured order. Undefined if a claim is missing or not a string, or if one of several contains `+`, because two users
 * could then have the same subject.
 */
export function subjectFromClaims(claims: Record<string, unknown>, subjectClaim: string): string | undefined {
  const names = subjectClaim.split('+');
  const values: string[] = [];
  for (const name of names) {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (typeof value !== 'string' || value === '' || value.length > maxClaimLength) return undefined;
    if (names.length > 1 && value.includes('+')) return undefined;
    values.push(value);
  }
  return values.join('+');
}

const maxLength = 200;

/** Controls, line separators, blank, enclosing, invisible and direction-changing characters, unpaired surrogates, private use. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Me}\u2800[\p{Default_Ignorable_Code_Point}--\p{Mn}]]+/gv;
/** Stacked combining marks, which would overlap the adjacent lines. */
const piled = /(\p{M}{4})\p{M}+/gu;
const visible = /[^\p{Z}\p{M}]/u;

/** Makes a provider's text safe to show on one line; undefined if it becomes empty. The caller escapes it. */
export function displayText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .slice(0, 4 * maxLength)
    .normalize('NFC')
    .replace(unsafe, ' ')
    .replace(piled, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  return visible.test(text) ? [...text].slice(0, maxLength).join('') : undefined;
}
