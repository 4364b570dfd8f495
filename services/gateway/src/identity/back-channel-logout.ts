import { AuthorizationError, type LogoutTokenVerifier, MAX_LOGOUT_TOKEN_AGE_SECONDS } from '@postern/authorization';
import { digestOf, type Stores } from '@postern/elicitation';
import type { FastifyContextConfig, FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { readBody } from '../platform/http/request-input.ts';
import { longestSessionMs } from './create-browser-session.ts';

/** Names a session at an identity provider. `sid` is unique only within its issuer. */
export const logoutNameOf = (issuer: string, sid: string): string => digestOf(JSON.stringify(['sid', issuer, sid]));

/** Larger than any logout token that the gateway accepts. */
const MAX_BODY = 20 * 1024;
/** A refused token may be older by the tolerance of both clocks. */
const REMEMBER_MS = (MAX_LOGOUT_TOKEN_AGE_SECONDS + 120) * 1_000;

/** An identity provider that reports the end of its sessions. */
export interface LogoutIssuer {
  readonly config: { readonly name: string };
  readonly verifyLogout: LogoutTokenVerifier['verify'];
}

export interface BackChannelLogoutDeps {
  readonly config: Pick<GatewayConfig, 'browserSession'>;
  readonly identityProviders: readonly LogoutIssuer[];
  readonly stores: Pick<Stores, 'browserSessions'>;
  readonly auditLog: AuditLog;
}

interface ByIdentityProvider {
  Params: { identityProvider: string };
}

/**
 * Receives back-channel logouts (OpenID Connect Back-Channel Logout 1.0). The token authenticates the request, so there is no cookie and
 * nothing to forge. Every invalid token gets the same response.
 */
export const backChannelLogoutRoutes: FastifyPluginAsync<{
  readonly deps: BackChannelLogoutDeps;
  readonly routeConfig?: FastifyContextConfig;
  /** Whose sessions end. The audit events of operators name them, those of users their pseudonym. Default `browser`. */
  readonly surface?: 'browser' | 'console';
}> = async (app, { deps, routeConfig = {}, surface = 'browser' }) => {
  const { stores, auditLog } = deps;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    async (request: FastifyRequest) => new URLSearchParams(String(await readBody(request, MAX_BODY))),
  );

  const path = '/login/back-channel-logout/:identityProvider';
  /** Before the body is read. */
  const onRequest = async ({ params }: FastifyRequest<ByIdentityProvider>) => {
    if (!deps.identityProviders.some(({ config }) => config.name === params.identityProvider))
      throw new ProblemError('not_found');
  };
  app.post<ByIdentityProvider>(path, { config: routeConfig, onRequest }, async (request, reply) => {
    const { identityProvider: name } = request.params;
    const identityProvider = deps.identityProviders.find(({ config }) => config.name === name);
    if (identityProvider === undefined) throw new ProblemError('not_found');
    const [token, ...more] = request.body instanceof URLSearchParams ? request.body.getAll('logout_token') : [];
    const refuse = (code: string, claim?: string) => {
      auditLog.record(`${surface}.logout_refused`, { identityProvider: name, code, claim });
      return new ProblemError('invalid_request', { detail: 'The logout token is not valid.' });
    };
    if (token === undefined || more.length > 0) throw refuse('invalid_logout_token');
    let logout: Awaited<ReturnType<LogoutTokenVerifier['verify']>>;
    try {
      logout = await identityProvider.verifyLogout(token);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      if (error.code === 'invalid_logout_token') throw refuse(error.code, error.claim);
      // Without the keys of the issuer, the token may be valid.
      throw new ProblemError('unavailable', { retryAfterMs: 5_000 });
    }
    const { issuer, sessionId, subject, tokenId } = logout;
    const target =
      sessionId !== undefined
        ? { logoutName: logoutNameOf(issuer, sessionId) }
        : { subject: { issuer, subject: subject ?? '' }, identityProvider: name };
    const isFirst = await stores.browserSessions.logOut(target, {
      token: digestOf(JSON.stringify(['logout', issuer, tokenId])),
      rememberMs: REMEMBER_MS,
      absoluteMs: longestSessionMs(deps.config),
    });
    if (!isFirst) throw refuse('replayed');
    auditLog.record(`${surface}.logged_out`, {
      identityProvider: name,
      of: sessionId === undefined ? 'user' : 'session',
      subject: subject === undefined ? undefined : { issuer, subject },
      operator: subject,
    });
    return reply.code(200).header('cache-control', 'no-store').send();
  });
};
