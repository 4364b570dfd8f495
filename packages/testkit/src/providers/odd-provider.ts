import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { replaceAnswer, settleWhenAnswered } from './answer-fate.ts';
import { basicCredentials } from './basic-credentials.ts';
import { listenHttp } from './http-listener.ts';
import { type OddAccount, type OddAnswer, type OddResult, type OddStyleName, oddStyles } from './odd-styles.ts';
import { FaultList, type ProviderFault } from './provider-fault.ts';
import { type LoggedRequest, type ProviderEndpoint, RequestLog } from './request-log.ts';
import { TokenLedger } from './token-ledger.ts';

export interface OddProviderOptions {
  readonly style: OddStyleName;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUris: readonly string[];
  readonly port?: number;
  /** Lifetime of access tokens in seconds (`slack`: in the response, with a refresh token). Default: none. */
  readonly accessTokenTtlSeconds?: number;
}

/**
 * A provider with non-standard OAuth. The user is always signed in and consents immediately, so `driveAuthorization` needs no
 * page. The provider checks codes, PKCE (if used), `state` and secrets.
 */
export interface OddProvider extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  /** Absolute URLs. The revocation URL contains the client id. */
  readonly endpoints: {
    readonly authorization: string;
    readonly token: string;
    readonly revocation: string;
    readonly account: string;
  };
  /** The signed-in account. */
  account: OddAccount;
  /** The decision of the user. Default `allow`. */
  decision: 'allow' | 'deny';
  /** Returns the granted scopes for the requested ones. Default: all of them. */
  grantScopes: (requested: readonly string[]) => readonly string[];
  /** `slack`: a refresh responds inside `authed_user`, as the code exchange does. Default false, as at Slack. */
  nestedRefresh: boolean;
  readonly tokens: TokenLedger;
  requests(endpoint?: ProviderEndpoint): readonly LoggedRequest[];
  fault(fault: ProviderFault): void;
  clearFaults(): void;
  /** Ends one access token; the refresh token stays. */
  endAccessToken(accessToken: string): void;
  /** Ends a grant, as a user can in the account settings. */
  endGrant(grantId: string): void;
  close(): Promise<void>;
}

interface RequestParts {
  readonly method: string;
  readonly form: URLSearchParams;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
  readonly response: ServerResponse;
}

interface OddCode {
  readonly redirectUri: string | null;
  readonly challenge: string | null;
  readonly scopes: readonly string[];
  readonly account: OddAccount;
}

interface OddRefreshToken {
  readonly grantId: string;
  readonly scopes: readonly string[];
  readonly account: OddAccount;
}

export async function startOddProvider(options: OddProviderOptions): Promise<OddProvider> {
  const style = oddStyles[options.style];
  const log = new RequestLog();
  const faults = new FaultList();
  const tokens = new TokenLedger();
  const codes = new Map<string, OddCode>();
  const refreshTokens = new Map<string, OddRefreshToken>();
  let grants = 0;

  const listener = await listenHttp(handle, options);
  const origin = `http://localhost:${listener.port}`;
  const paths = {
    ...style.paths,
    revocation: style.paths.revocation.replace('{clientId}', encodeURIComponent(options.clientId)),
  };
  const endpoints = {
    authorization: origin + paths.authorization,
    token: origin + paths.token,
    revocation: origin + paths.revocation,
    account: origin + paths.account,
  };
  const provider: OddProvider = {
    origin,
    port: listener.port,
    endpoints,
    tokens,
    account: { id: 583231, login: 'octo', name: 'Octo Example' },
    decision: 'allow',
    grantScopes: requested => requested,
    nestedRefresh: false,
    requests: endpoint => log.of(endpoint),
    fault: fault => faults.add(fault),
    clearFaults: () => faults.clear(),
    endAccessToken(accessToken) {
      const token = tokens.accessToken(accessToken);
      if (!token) throw new Error('this provider has not issued such an access token');
      token.revoked = true;
    },
    endGrant,
    close: () => listener.close(),
    [Symbol.asyncDispose]: () => listener.close(),
  };
  return provider;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', origin);
    const { method = 'GET' } = request;
    const body = await text(request);
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
    const form = new URLSearchParams(isForm ? body : '');
    const endpoint = endpointOf(url.pathname);
    const entry = log.add({
      endpoint,
      method,
      url,
      headers: request.headers,
      body,
      form: Object.fromEntries(form),
    });
    const target = { endpoint, grantType: form.get('grant_type') ?? undefined };
    const early = faults.takeBefore(target);
    if (early && early.drop !== 'after') return strike(early);
    if (endpoint === 'authorization') {
      response.writeHead(302, { location: authorize(url.searchParams) }).end();
      return;
    }
    const { answer, isSuccess } = answerTo(endpoint, { method, form, body, headers: request.headers, response });
    entry.status = answer.status;
    const late = early ?? (isSuccess ? faults.takeAfter(target) : undefined);
    if (late) {
      replaceAnswer(response);
      return strike(late);
    }
    const isParameters = answer.body instanceof URLSearchParams;
    const type = isParameters ? 'application/x-www-form-urlencoded; charset=utf-8' : 'application/json; charset=utf-8';
    const sent = answer.body instanceof URLSearchParams ? answer.body.toString() : JSON.stringify(answer.body);
    response.writeHead(answer.status, answer.body === undefined ? {} : { 'content-type': type }).end(sent);

    function strike(fault: ProviderFault): void {
      if (fault.hang) return;
      if (fault.drop !== undefined) {
        response.destroy();
        return;
      }
      entry.status = fault.status ?? 500;
      response.writeHead(entry.status, { ...fault.headers }).end(fault.body ?? '');
    }
  }

  function endpointOf(pathname: string): ProviderEndpoint {
    const names: Record<string, ProviderEndpoint> = {
      [paths.authorization]: 'authorization',
      [paths.token]: 'token',
      [paths.revocation]: 'revocation',
      [paths.account]: 'userinfo',
      '/api/me': 'api',
    };
    return names[pathname] ?? 'other';
  }

  function authorize(query: URLSearchParams): string {
    const redirectUri = query.get('redirect_uri');
    if (query.get('client_id') !== options.clientId || !options.redirectUris.includes(redirectUri ?? '')) {
      // Never redirects to an unregistered URI.
      return `${origin}/error`;
    }
    const back = new URL(redirectUri ?? '');
    const state = query.get('state');
    if (state !== null) back.searchParams.set('state', state);
    if (provider.decision === 'deny') {
      back.searchParams.set('error', 'access_denied');
      return back.href;
    }
    if (query.has('code_challenge') && query.get('code_challenge_method') !== 'S256') {
      back.searchParams.set('error', 'invalid_request');
      return back.href;
    }
    const code = randomBytes(20).toString('hex');
    const scopes = provider.grantScopes(style.requestedScopes(query));
    codes.set(code, { redirectUri, challenge: query.get('code_challenge'), scopes, account: provider.account });
    back.searchParams.set('code', code);
    return back.href;
  }

  function answerTo(endpoint: ProviderEndpoint, p: RequestParts): { answer: OddAnswer; isSuccess: boolean } {
    if (endpoint === 'token' && p.method === 'POST') {
      const result = tokenResult(p);
      const { nestedRefresh } = provider;
      return {
        answer: style.tokenAnswer(result, provider.account, { nestedRefresh }),
        isSuccess: !('fault' in result),
      };
    }
    if (endpoint === 'revocation' && p.method === style.revocationMethod) return revoke(p);
    const value = bearer(p.headers.authorization);
    const token = tokens.isLive(value) ? tokens.accessToken(value) : undefined;
    if (endpoint === 'userinfo') {
      return { answer: style.accountAnswer(token, provider.account), isSuccess: token !== undefined };
    }
    if (endpoint === 'api') {
      const { accountId: account, clientId, scopes } = token ?? {};
      const body = token ? { account, clientId, scopes } : { error: 'invalid_token' };
      return { answer: { status: token ? 200 : 401, body }, isSuccess: token !== undefined };
    }
    return { answer: { status: 404, body: undefined }, isSuccess: false };
  }

  function tokenResult({ form, headers, response }: RequestParts): OddResult {
    if (!isClient(form, headers.authorization)) return { fault: 'client' };
    const grantType = form.get('grant_type') ?? 'authorization_code';
    if (grantType === 'refresh_token' && style.refreshes) {
      return refresh(form.get('refresh_token') ?? '', response);
    }
    if (grantType !== 'authorization_code') return { fault: 'grant_type' };
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    if (!code) return { fault: 'code' };
    if (code.redirectUri !== form.get('redirect_uri')) return { fault: 'redirect_uri' };
    const verifier = form.get('code_verifier') ?? '';
    const isVerified = createHash('sha256').update(verifier).digest('base64url') === code.challenge;
    if (code.challenge !== null && !isVerified) return { fault: 'verifier' };
    if (!style.revokesEverything) grants += 1;
    const grantId = style.revokesEverything ? `grant-of-${code.account.id}` : `grant-${grants}`;
    const hasRefreshToken =
      style.refreshes && (options.style !== 'slack' || options.accessTokenTtlSeconds !== undefined);
    return issue({ grantId, scopes: code.scopes, account: code.account }, { grantType, hasRefreshToken, response });
  }

  function refresh(value: string, response: ServerResponse): OddResult {
    const known = refreshTokens.get(value);
    if (!known) {
      tokens.recordRefusal(value);
      return { fault: 'refresh_token' };
    }
    if (style.rotates) refreshTokens.delete(value);
    return issue(known, { grantType: 'refresh_token', hasRefreshToken: style.rotates, used: value, response });
  }

  function issue(
    grant: OddRefreshToken,
    p: { grantType: string; hasRefreshToken: boolean; used?: string; response: ServerResponse },
  ): OddResult {
    const accessToken = style.accessTokenPrefix + randomBytes(20).toString('hex');
    const refreshToken = p.hasRefreshToken ? `refresh-${randomBytes(20).toString('hex')}` : undefined;
    if (refreshToken !== undefined) refreshTokens.set(refreshToken, grant);
    const renewed = refreshToken === undefined ? {} : { refreshToken };
    const { settle } = tokens.record({
      grantType: p.grantType,
      grantId: grant.grantId,
      clientId: options.clientId,
      scopes: grant.scopes,
      accountId: String(grant.account.id),
      audience: [],
      accessToken,
      ...renewed,
      expiresIn: options.accessTokenTtlSeconds ?? Number.POSITIVE_INFINITY,
      ...(p.used !== undefined && { usedRefreshToken: p.used }),
    });
    settleWhenAnswered(p.response, settle);
    const expiresIn = options.style === 'slack' ? options.accessTokenTtlSeconds : undefined;
    return {
      accessToken,
      scopes: grant.scopes,
      isRefresh: p.used !== undefined,
      ...renewed,
      ...(expiresIn !== undefined && { expiresIn }),
    };
  }

  function revoke(p: RequestParts): { answer: OddAnswer; isSuccess: boolean } {
    const { authorization } = p.headers;
    if (style.revocationBy === 'client' && !isClient(new URLSearchParams(), authorization)) {
      return { answer: { status: 401, body: { message: 'Bad credentials' } }, isSuccess: false };
    }
    const token =
      style.revocationBy === 'bearer'
        ? bearer(authorization)
        : style.revocationBy === 'client'
          ? tokenInJson(p.body)
          : (p.form.get('token') ?? '');
    const grantId = tokens.grantOf(token)?.grantId;
    const wasLive = grantId !== undefined && (tokens.isLive(token) || refreshTokens.has(token));
    if (wasLive) endGrant(grantId);
    return { answer: style.revocationAnswer(wasLive), isSuccess: wasLive };
  }

  function endGrant(grantId: string): void {
    tokens.revokeGrant(grantId);
    for (const [value, grant] of refreshTokens) if (grant.grantId === grantId) refreshTokens.delete(value);
  }

  function isClient(form: URLSearchParams, authorization: string | undefined): boolean {
    const basic = basicCredentials(authorization);
    const id = basic?.user ?? form.get('client_id');
    const secret = basic?.password ?? form.get('client_secret');
    return id === options.clientId && secret === options.clientSecret;
  }
}

function bearer(authorization: string | undefined): string {
  return /^(?:Bearer|token) (\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
}

function tokenInJson(body: string): string {
  const parsed: unknown = body.startsWith('{') ? JSON.parse(body) : {};
  const token = typeof parsed === 'object' && parsed !== null && 'access_token' in parsed && parsed.access_token;
  return typeof token === 'string' ? token : '';
}
