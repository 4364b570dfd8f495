import type { Middleware, Provider } from '@postern/openid-server';
import { replaceAnswer } from './answer-fate.ts';
import type { ProviderSwitches } from './open-id-provider-options.ts';
import { ProtectedResource } from './protected-resource.ts';
import type { FaultList, ProviderFault } from './provider-fault.ts';
import { peekBody } from './request-body.ts';
import type { ProviderEndpoint, RequestLog } from './request-log.ts';
import type { TokenEndpoint } from './token-endpoint.ts';
import type { TokenLedger } from './token-ledger.ts';

type Context = Parameters<Middleware>[0];

/** Adds test features to an OpenID provider: request log, faults, switches, a protected API. */
export function aroundProvider(p: {
  provider: Provider;
  issuer: string;
  switches: ProviderSwitches;
  log: RequestLog;
  faults: FaultList;
  ledger: TokenLedger;
  tokenEndpoint: TokenEndpoint;
}): Middleware {
  const { provider, issuer, switches, log, faults, ledger, tokenEndpoint } = p;
  const api = new ProtectedResource({ ledger, switches });

  return async (context, next) => {
    const url = new URL(context.url, issuer);
    const endpoint = endpointOf(url.pathname);
    const entry = log.add({ endpoint, method: context.method, url, headers: context.headers, form: {} });
    if (calledBySoftware.has(endpoint) && context.method !== 'GET') {
      entry.body = await peekBody(context.req);
      if (context.is('urlencoded')) entry.form = Object.fromEntries(new URLSearchParams(entry.body));
    }
    const target = { endpoint, grantType: entry.form['grant_type'], tokenTypeHint: entry.form['token_type_hint'] };

    const early = faults.takeBefore(target);
    if (early && early.drop !== 'after') {
      strike(context, early);
      if (early.status !== undefined) entry.status = early.status;
      return;
    }
    if (endpoint === 'api') {
      const { authorization, dpop } = context.headers;
      const answer = await api.answer({
        method: context.method,
        url,
        authorization,
        dpop: typeof dpop === 'string' ? dpop : undefined,
      });
      context.status = answer.status;
      context.set({ ...answer.headers });
      context.body = answer.body;
    } else if (endpoint === 'token') {
      await tokenEndpoint.handle(new URLSearchParams(entry.body), context, provider, next);
    } else {
      await next();
    }
    flipSwitches(context, endpoint, issuer, switches);
    entry.status = context.status;

    const isSuccess = context.status >= 200 && context.status < 400;
    if (endpoint === 'token' && isSuccess) await tokenEndpoint.beforeAnswer(context, target.grantType ?? '');
    if (early) strike(context, { endpoint, drop: 'after' });
    const late = isSuccess ? faults.takeAfter(target) : undefined;
    if (late) {
      replaceAnswer(context.res);
      strike(context, late);
      entry.status = context.status;
    }
  };
}

function strike(context: Context, { hang, drop, status, headers = {}, body = '' }: ProviderFault): void {
  if (hang === true || drop !== undefined) {
    context.respond = false;
    if (drop !== undefined) context.req.socket.destroy();
    return;
  }
  context.status = status ?? 500;
  context.set({ ...headers });
  context.body = body;
}

function flipSwitches(context: Context, endpoint: ProviderEndpoint, issuer: string, switches: ProviderSwitches): void {
  if (!switches.dpopNonce && endpoint !== 'api') context.remove('dpop-nonce');
  if (endpoint === 'metadata' && switches.protectedResources !== undefined && typeof context.body === 'object') {
    context.body = { ...context.body, protected_resources: switches.protectedResources };
  }
  if (switches.issParameter) return;
  if (endpoint === 'metadata' && typeof context.body === 'object' && context.body !== null) {
    const { authorization_response_iss_parameter_supported: _, ...metadata } = context.body as Record<string, unknown>;
    context.body = metadata;
  }
  const location = context.response.get('location');
  if (endpoint === 'authorization' && location !== '') {
    const back = new URL(location, issuer);
    if (back.searchParams.get('iss') === issuer) {
      back.searchParams.delete('iss');
      context.set('location', back.href);
    }
  }
}

const calledBySoftware: ReadonlySet<ProviderEndpoint> = new Set([
  'device_authorization',
  'introspection',
  'pushed_authorization_request',
  'registration',
  'revocation',
  'token',
]);

const paths: Record<string, ProviderEndpoint> = {
  '/api/me': 'api',
  '/auth': 'authorization',
  '/device': 'device',
  '/device/auth': 'device_authorization',
  '/jwks': 'jwks',
  '/me': 'userinfo',
  '/reg': 'registration',
  '/request': 'pushed_authorization_request',
  '/token': 'token',
  '/token/introspection': 'introspection',
  '/token/revocation': 'revocation',
};

export function endpointOf(pathname: string): ProviderEndpoint {
  const known = paths[pathname];
  if (known !== undefined) return known;
  if (pathname.includes('/.well-known/')) return 'metadata';
  if (pathname.startsWith('/interaction/')) return 'interaction';
  if (pathname.startsWith('/auth/')) return 'authorization';
  if (pathname.startsWith('/device/')) return 'device';
  if (pathname.startsWith('/reg/')) return 'registration';
  return 'other';
}
