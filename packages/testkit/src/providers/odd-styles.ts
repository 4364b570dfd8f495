import type { AccessTokenRecord } from './token-ledger.ts';

export type OddStyleName = 'github' | 'slack' | 'salesforce';

export interface OddAccount {
  readonly id: number;
  readonly login: string;
  readonly name: string;
}

/** The result of a token request. */
export type OddResult =
  | {
      readonly accessToken: string;
      readonly refreshToken?: string;
      readonly expiresIn?: number;
      readonly scopes: readonly string[];
      readonly isRefresh: boolean;
    }
  | { readonly fault: 'client' | 'code' | 'grant_type' | 'redirect_uri' | 'refresh_token' | 'verifier' };

export interface OddAnswer {
  readonly status: number;
  /** An object is sent as JSON, parameters as a form. */
  readonly body: object | URLSearchParams | undefined;
}

/** The wire format of one family of providers. */
export interface OddStyle {
  readonly paths: {
    readonly authorization: string;
    readonly token: string;
    readonly revocation: string;
    readonly account: string;
  };
  readonly revocationMethod: 'DELETE' | 'POST';
  /** Authentication of a revocation: the client's secret, or the token itself. */
  readonly revocationBy: 'client' | 'bearer' | 'token';
  /** A revocation ends all grants of the user to the client. */
  readonly revokesEverything: boolean;
  readonly accessTokenPrefix: string;
  readonly refreshes: boolean;
  readonly rotates: boolean;
  requestedScopes(query: URLSearchParams): string[];
  tokenAnswer(result: OddResult, account: OddAccount, options: { nestedRefresh: boolean }): OddAnswer;
  revocationAnswer(wasLive: boolean): OddAnswer;
  accountAnswer(token: AccessTokenRecord | undefined, account: OddAccount): OddAnswer;
}

const split = (text: string | null): string[] => (text ?? '').split(/[ ,]+/).filter(scope => scope !== '');

/** Forms instead of JSON, errors with status 200, comma-separated scopes, tokens without expiry. */
const github: OddStyle = {
  paths: {
    authorization: '/login/oauth/authorize',
    token: '/login/oauth/access_token',
    revocation: '/applications/{clientId}/grant',
    account: '/user',
  },
  revocationMethod: 'DELETE',
  revocationBy: 'client',
  revokesEverything: true,
  accessTokenPrefix: 'gho_',
  refreshes: false,
  rotates: false,
  requestedScopes: query => split(query.get('scope')),
  tokenAnswer(result) {
    if ('fault' in result) {
      const codes: Record<typeof result.fault, string> = {
        client: 'incorrect_client_credentials',
        code: 'bad_verification_code',
        grant_type: 'unsupported_grant_type',
        redirect_uri: 'redirect_uri_mismatch',
        refresh_token: 'bad_refresh_token',
        verifier: 'bad_verification_code',
      };
      const error = codes[result.fault];
      const error_description = 'The request was not accepted.';
      return {
        status: 200,
        body: new URLSearchParams({ error, error_description, error_uri: 'https://docs.example/' }),
      };
    }
    const { accessToken: access_token, scopes } = result;
    return { status: 200, body: new URLSearchParams({ access_token, scope: scopes.join(','), token_type: 'bearer' }) };
  },
  revocationAnswer: wasLive =>
    wasLive ? { status: 204, body: undefined } : { status: 422, body: { message: 'Validation Failed' } },
  accountAnswer: (token, account) =>
    token ? { status: 200, body: account } : { status: 401, body: { message: 'Bad credentials' } },
};

/** A user token inside another object, `ok` instead of a status, and rotated tokens outside that object. */
const slack: OddStyle = {
  paths: {
    authorization: '/oauth/v2/authorize',
    token: '/api/oauth.v2.access',
    revocation: '/api/auth.revoke',
    account: '/api/auth.test',
  },
  revocationMethod: 'POST',
  revocationBy: 'bearer',
  revokesEverything: false,
  accessTokenPrefix: 'xoxp-',
  refreshes: true,
  rotates: true,
  requestedScopes: query => split(query.get('user_scope')),
  tokenAnswer(result, account, { nestedRefresh }) {
    if ('fault' in result) {
      const codes: Record<typeof result.fault, string> = {
        client: 'invalid_client_id',
        code: 'invalid_code',
        grant_type: 'invalid_grant_type',
        redirect_uri: 'bad_redirect_uri',
        refresh_token: 'invalid_refresh_token',
        verifier: 'invalid_code',
      };
      return { status: 200, body: { ok: false, error: codes[result.fault] } };
    }
    const user = {
      id: slackId(account),
      scope: result.scopes.join(','),
      access_token: result.accessToken,
      token_type: 'user',
      ...(result.expiresIn !== undefined && { expires_in: result.expiresIn }),
      ...(result.refreshToken !== undefined && { refresh_token: result.refreshToken }),
    };
    const app = { ok: true, app_id: 'A0TEST', team: { id: 'T0TEST', name: 'Test Team' }, enterprise: null };
    const isNested = !result.isRefresh || nestedRefresh;
    return { status: 200, body: isNested ? { ...app, authed_user: user } : { ...app, ...user } };
  },
  revocationAnswer: wasLive => ({
    status: 200,
    body: wasLive ? { ok: true, revoked: true } : { ok: false, error: 'token_revoked' },
  }),
  accountAnswer: (token, account) => ({
    status: 200,
    body: token
      ? { ok: true, user_id: slackId(account), user: account.login, team_id: 'T0TEST' }
      : { ok: false, error: 'invalid_auth' },
  }),
};

/** Access tokens expire, but responses have no lifetime. The refresh token is static. */
const salesforce: OddStyle = {
  paths: {
    authorization: '/services/oauth2/authorize',
    token: '/services/oauth2/token',
    revocation: '/services/oauth2/revoke',
    account: '/services/oauth2/userinfo',
  },
  revocationMethod: 'POST',
  revocationBy: 'token',
  revokesEverything: false,
  accessTokenPrefix: '00D!',
  refreshes: true,
  rotates: false,
  requestedScopes: query => split(query.get('scope')),
  tokenAnswer(result) {
    if ('fault' in result) {
      const error = result.fault === 'client' ? 'invalid_client' : 'invalid_grant';
      return { status: 400, body: { error, error_description: 'not accepted' } };
    }
    const { accessToken: access_token, refreshToken, scopes } = result;
    return {
      status: 200,
      body: {
        access_token,
        token_type: 'Bearer',
        scope: scopes.join(' '),
        issued_at: '1700000000000',
        ...(refreshToken !== undefined && { refresh_token: refreshToken }),
      },
    };
  },
  revocationAnswer: wasLive =>
    wasLive ? { status: 200, body: undefined } : { status: 400, body: { error: 'unsupported_token_type' } },
  accountAnswer: (token, account) =>
    token
      ? { status: 200, body: { user_id: String(account.id), preferred_username: account.login, name: account.name } }
      : { status: 401, body: { error: 'invalid_token' } },
};

export const oddStyles: Record<OddStyleName, OddStyle> = { github, slack, salesforce };

function slackId({ id }: OddAccount): string {
  return `U${id}`;
}
