import type * as client from 'openid-client';
import { AuthorizationError, type AuthorizationErrorCode } from './authorization-error.ts';
import { errorFromProvider } from './provider-error.ts';
import { readTokenAnswer, type TokenMembers } from './token-answer.ts';
import { parseTokenResponse, type TokenResponse, type TokenType } from './token-response.ts';
import type { TokenResponseConfig } from './token-response-config.ts';

export interface TokenEndpointRules {
  /** As the token request goes to it. */
  readonly endpoint: string;
  readonly tokenType: TokenType;
  readonly answers: TokenResponseConfig | undefined;
  /** What cannot be verified is not taken, and what nobody needs is not looked at. */
  readonly keepsIdToken: boolean;
  /** Whether it is a grant that stands or falls with the answer, as at a refresh. */
  readonly grantStands: boolean;
}

export interface IssuedTokens {
  readonly response: TokenResponse;
  /** The whole answer, unchecked. */
  readonly members: TokenMembers;
}

/**
 * Stands between openid-client and the token endpoint. The library gets a strictly valid answer of RFC 6749 or a challenge for
 * a DPoP nonce, which it meets itself; everything else ends here, as an error of ours.
 */
export function guardTokenEndpoint(rules: TokenEndpointRules, fetch: client.CustomFetch) {
  const endpoint = new URL(rules.endpoint).href;
  let issued: IssuedTokens | undefined;

  const guarded: client.CustomFetch = async (url, options) => {
    const answer = await fetch(url, options);
    if (url !== endpoint) return answer;
    const { status, headers } = answer;
    const body = await answer.text();
    if (status !== 200 && status < 400) throw new AuthorizationError('invalid_token_response');

    const read = readTokenAnswer({ status, contentType: headers.get('content-type'), body }, rules.answers);
    if (rules.tokenType === 'dpop' && isNonceChallenge(answer, read?.kind === 'error' ? read.code : '')) {
      return new Response(body, { status, headers });
    }
    if (read === undefined) throw unreadable(answer, 'invalid_token_response');
    if (read.kind === 'error') throw refusal(read.code, rules);
    const { id_token, ...rest } = parseTokenResponse(read.members, rules.tokenType);
    const response = rules.keepsIdToken && id_token !== undefined ? { ...rest, id_token } : rest;
    issued = { response, members: read.all };
    return Response.json(response);
  };
  return { fetch: guarded, issued: () => issued };
}

/** RFC 9449 section 8. */
export function isNonceChallenge({ status, headers }: Response, errorCode: string): boolean {
  if ((status !== 400 && status !== 401) || !headers.has('dpop-nonce')) return false;
  return errorCode === 'use_dpop_nonce' || /\berror="?use_dpop_nonce\b/.test(headers.get('www-authenticate') ?? '');
}

function refusal(code: string, { grantStands, answers }: TokenEndpointRules): AuthorizationError {
  const error = errorFromProvider(code);
  const isRefused = code === 'invalid_grant' || answers?.refusedErrors.includes(code) === true;
  if (!grantStands || !isRefused) return error;
  return new AuthorizationError('grant_refused', { providerError: error.providerError ?? 'unregistered' });
}

/** An answer that is neither what was asked for nor an error by its code. RFC 6749 section 5.2: 401 is about the client. */
export function unreadable({ status, headers }: Response, fallback: AuthorizationErrorCode): AuthorizationError {
  const isChallenge = status === 401 && headers.has('www-authenticate');
  return isChallenge ? errorFromProvider('invalid_client') : new AuthorizationError(fallback);
}
