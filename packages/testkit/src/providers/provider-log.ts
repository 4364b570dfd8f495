import { decodeJwt, decodeProtectedHeader, errors } from 'jose';
import { basicCredentials } from './basic-credentials.ts';
import type { LoggedRequest, ProviderEndpoint } from './request-log.ts';
import { type TokenLedger, tokenDigest } from './token-ledger.ts';

/** A client assertion (RFC 7523) as received. The status shows whether it was accepted. */
export interface LoggedAssertion {
  readonly endpoint: ProviderEndpoint;
  readonly aud: string | readonly string[] | undefined;
  readonly iss: string | undefined;
  readonly sub: string | undefined;
  readonly jti: string | undefined;
  readonly alg: string | undefined;
  readonly kid: string | undefined;
  readonly lifetimeSeconds: number | undefined;
  readonly status: number | undefined;
}

export interface LoggedRevocation {
  readonly clientId: string | undefined;
  readonly kind: 'access_token' | 'refresh_token' | 'unknown';
  readonly digest: string;
  readonly hint: string | undefined;
  readonly grantId: string | undefined;
  readonly status: number | undefined;
}

/** A secret in the query of a request, where logs and browser histories would record it. */
export interface SecretInQuery {
  readonly endpoint: ProviderEndpoint;
  readonly parameter: string;
}

export function assertionsIn(requests: readonly LoggedRequest[]): LoggedAssertion[] {
  return requests.flatMap(({ endpoint, form, status }) => {
    const assertion = form['client_assertion'];
    if (assertion === undefined) return [];
    try {
      const { aud, iss, sub, jti, iat, exp } = decodeJwt(assertion);
      const { alg, kid } = decodeProtectedHeader(assertion);
      const lifetimeSeconds = iat === undefined || exp === undefined ? undefined : exp - iat;
      return [{ endpoint, aud, iss, sub, jti, alg, kid, lifetimeSeconds, status }];
    } catch (error) {
      if (!(error instanceof errors.JOSEError || error instanceof TypeError)) throw error;
      const nothing = { aud: undefined, iss: undefined, sub: undefined, jti: undefined, alg: undefined };
      return [{ endpoint, ...nothing, kid: undefined, lifetimeSeconds: undefined, status }];
    }
  });
}

export function revocationsIn(requests: readonly LoggedRequest[], ledger: TokenLedger): LoggedRevocation[] {
  return requests
    .filter(({ endpoint }) => endpoint === 'revocation')
    .map(({ form, headers, status }) => {
      const token = form['token'] ?? '';
      return {
        clientId: form['client_id'] ?? basicCredentials(headers['authorization'])?.user,
        kind: ledger.kindOf(token),
        digest: tokenDigest(token),
        hint: form['token_type_hint'],
        grantId: ledger.grantOf(token)?.grantId,
        status,
      };
    });
}

const secretParameters = new Set([
  'access_token',
  'client_assertion',
  'client_secret',
  'code_verifier',
  'device_code',
  'refresh_token',
  'token',
]);

export function secretsInQueries(
  requests: readonly LoggedRequest[],
  isSecret: (value: string) => boolean,
): SecretInQuery[] {
  return requests.flatMap(({ endpoint, url }) =>
    [...url.searchParams]
      .filter(([parameter, value]) => secretParameters.has(parameter) || isSecret(value))
      .map(([parameter]) => ({ endpoint, parameter })),
  );
}
