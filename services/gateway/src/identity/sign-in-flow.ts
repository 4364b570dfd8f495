import { AuthorizationError, type IdentityProviderConfig, type SignedIn, type SignIn } from '@postern/authorization';
import {
  type BrowserSession,
  type Clock,
  digestOf,
  type ElicitationId,
  type Entropy,
  parseElicitationId,
  type Stores,
  type UsedKind,
} from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { LOGIN_TRANSACTION_SECONDS } from '../pages/browser-cookies.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { signInRedirectUriOf } from '../platform/http/public-urls.ts';
import { identified, networkOf } from '../platform/http/unknown-callers.ts';
import { FailedAttempts } from '../platform/overload/failed-attempts.ts';
import { unsealTransaction } from '../sealing/unseal-transaction.ts';
import { logoutNameOf } from './back-channel-logout.ts';
import { createBrowserSession } from './create-browser-session.ts';
import { isFresh } from './sign-in-policy.ts';

export interface IdentityProvider {
  readonly config: IdentityProviderConfig;
  readonly signIn: SignIn;
}

/** Callbacks per minute that end in a refusal. Many people may share an address. */
const REFUSALS_PER_ADDRESS = 30;
const REFUSALS_PER_PROCESS = 300;

const loginTransactionSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  issuer: z.string(),
  /** Two identity providers may have one issuer with `{tenantid}`. */
  name: z.string(),
  returnTo: z.string().optional(),
  maxAge: z.number().optional(),
  provesFor: z.string().optional(),
  expiresAt: z.number(),
});
type LoginTransaction = z.infer<typeof loginTransactionSchema>;

/** Pages of the user's account to which a sign-in can return. */
export const accountPages = { me: '/me', data: '/me/data' } as const;
export const accountPageSchema = z.enum(['me', 'data'] satisfies (keyof typeof accountPages)[]);
export type AccountPage = keyof typeof accountPages;

/** Where the browser goes after the sign-in: to an elicitation, by its id, or to a page of the user's account. */
export type ReturnTo = ElicitationId | AccountPage;

export const isAccountPage = (returnTo: string | undefined): returnTo is AccountPage =>
  returnTo !== undefined && Object.hasOwn(accountPages, returnTo);

/** @typeParam To where the browser goes after the sign-in */
export type SignInResult<To extends string = ReturnTo> =
  | {
      readonly result: 'signed_in';
      readonly browserSession: BrowserSession;
      readonly returnTo: To | undefined;
      readonly cookie: number;
      /** Requested maximum age of the sign-in, in seconds. */
      readonly maxAge: number | undefined;
    }
  /** The identity provider refused, is unavailable, or returned an invalid response. */
  | {
      readonly result: 'refused';
      readonly error: AuthorizationError;
      readonly returnTo: To | undefined;
      readonly cookie: number;
    }
  /** This browser has no matching transaction, or the transaction was already used. */
  | { readonly result: 'unknown' };

/**
 * Sign-in at an identity provider. The login transaction is kept in a sealed cookie, so starting one writes nothing to Redis. The
 * callback spends it once.
 */
export function createSignInFlow<To extends string>(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'browserSession'>;
  auditLog: AuditLog;
  stores: Pick<Stores, 'oneTime' | 'browserSessions'>;
  vault: Vault;
  identityProviders: readonly IdentityProvider[];
  /** What spending a transaction counts as. Default: `login`. */
  kind?: Extract<UsedKind, 'login' | 'console-login'>;
  /** Parses where the browser goes after the sign-in, as kept in the transaction. */
  parseReturnTo: (returnTo: string) => To | undefined;
  now: Clock;
  entropy: Entropy;
}) {
  const redirectUriOf = ({ config: { name } }: IdentityProvider) => signInRedirectUriOf(p.config.publicUrl, name);
  const { kind = 'login' } = p;
  const random = () => Buffer.from(p.entropy(32)).toString('base64url');

  const refusals = new FailedAttempts({ perAddress: REFUSALS_PER_ADDRESS, perProcess: REFUSALS_PER_PROCESS }, p.now);

  // Deployments may share a vault key, so sealed transactions name their deployment.
  const context = { purpose: 'login-transaction', deployment: p.config.publicUrl };
  const openTransaction = (sealed: string) => unsealTransaction(p, loginTransactionSchema, sealed, context);

  /** Finds the sign-in that this browser returns from, among those that it has begun. */
  async function transactionOf(callbackUrl: URL, cookies: readonly (string | undefined)[]) {
    const [state, ...more] = callbackUrl.searchParams.getAll('state');
    if (state === undefined || more.length > 0) return undefined;
    for (const [cookie, sealed] of cookies.entries()) {
      const transaction = sealed === undefined ? undefined : await openTransaction(sealed);
      if (transaction?.state === state) return { cookie, state, transaction };
    }
    return undefined;
  }

  return {
    /** The `state` of the sign-in that this browser returns from. Its cookie is sealed, so a caller cannot invent one. */
    async returningWith(url: URL, cookies: readonly (string | undefined)[]): Promise<string | undefined> {
      return (await transactionOf(url, cookies))?.state;
    },

    /** Finds an identity provider by its configured name. Without a name, returns the first one. */
    identityProviderNamed(name: string | undefined): IdentityProvider | undefined {
      return name === undefined
        ? p.identityProviders[0]
        : p.identityProviders.find(candidate => candidate.config.name === name);
    },

    /** @throws AuthorizationError if the identity provider is unavailable or misconfigured */
    async start(request: {
      identityProvider: IdentityProvider;
      returnTo: To | undefined;
      /** Makes the identity provider ask for credentials even if the user has a session there. */
      forceLogin: boolean;
      /** Maximum age of the sign-in, in seconds. With 0, only a sign-in after this start is accepted. */
      maxAge?: number;
      /** The elicitation for which the user signs in. Counts only if the sign-in happened after this start. */
      provesFor?: ElicitationId;
      /** Language of the page that leads to the sign-in (BCP 47). */
      locale?: string;
    }): Promise<{ authorizationUrl: URL; cookie: string }> {
      const state = random();
      const nonce = random();
      const { maxAgeSeconds } = request.identityProvider.config;
      const ages = [request.maxAge, maxAgeSeconds].filter(age => age !== undefined);
      const maxAge = ages.length === 0 ? undefined : Math.min(...ages);
      const { authorizationUrl, codeVerifier } = await request.identityProvider.signIn.start({
        redirectUri: redirectUriOf(request.identityProvider),
        state,
        nonce,
        ...(request.forceLogin ? { prompt: 'login' as const } : {}),
        maxAge,
        locale: request.locale,
      });
      const transaction: LoginTransaction = {
        state,
        nonce,
        codeVerifier,
        issuer: request.identityProvider.config.issuer,
        name: request.identityProvider.config.name,
        expiresAt: p.now() + LOGIN_TRANSACTION_SECONDS * 1000,
        returnTo: request.returnTo,
        maxAge,
        provesFor: request.provesFor,
      };
      return { authorizationUrl, cookie: await p.vault.seal(JSON.stringify(transaction), context) };
    },

    /**
     * Completes a sign-in in the browser that started it, and creates a browser session under a new id.
     *
     * A response at the redirect URI of another identity provider is a mix-up (RFC 9700 section 4.4). The gateway never exchanges its
     * code, and the transaction cannot be used again.
     * @param browser name of the browser and its system, for the list that its user sees
     * @throws ProblemError `rate_limited`, without using up the transaction
     */
    async finish(
      callbackUrl: URL,
      cookies: readonly (string | undefined)[],
      request: Pick<FastifyRequest, 'ip' | 'raw'>,
      browser?: string,
    ): Promise<SignInResult<To>> {
      const found = await transactionOf(callbackUrl, cookies);
      if (found === undefined) return { result: 'unknown' };
      const { cookie, state, transaction } = found;
      const identityProvider = p.identityProviders.find(
        ({ config: { issuer, name } }) => issuer === transaction.issuer && name === transaction.name,
      );
      if (identityProvider === undefined) return { result: 'unknown' };
      // Anyone can start a sign-in and invent a code, which only the identity provider can refuse.
      const ended = refusals.begin(request.ip);
      let hasSucceeded: boolean | undefined;
      using _ = { [Symbol.dispose]: () => ended(hasSucceeded) };
      identified(request, { kind: 'caller', id: networkOf(request.ip) });
      // A browser can replay the cookie, so spending the `state` makes the transaction one-time.
      const { expiresAt } = transaction;
      if (!(await p.stores.oneTime.spend({ kind, digest: digestOf(state), expiresAt }))) return { result: 'unknown' };
      const { nonce, codeVerifier, maxAge } = transaction;
      const returnTo = p.parseReturnTo(transaction.returnTo ?? '');
      const redirectUri = redirectUriOf(identityProvider);
      if (callbackUrl.pathname !== redirectUri.pathname)
        return { result: 'refused', error: new AuthorizationError('issuer_mismatch'), returnTo, cookie };
      let signedIn: SignedIn;
      hasSucceeded = false;
      try {
        signedIn = await identityProvider.signIn.finish({
          callbackUrl,
          redirectUri,
          state,
          nonce,
          codeVerifier,
          maxAge: maxAge === 0 ? secondsSinceStart(transaction) : maxAge,
        });
      } catch (error) {
        if (error instanceof AuthorizationError) return { result: 'refused', error, returnTo, cookie };
        throw error;
      }
      hasSucceeded = true;
      const { name } = identityProvider.config;
      // A time in the future would become recent later.
      const authTime = isFresh(signedIn.authTime, Number.POSITIVE_INFINITY, p.now()) ? signedIn.authTime : undefined;
      const browserSession = await createBrowserSession(p, {
        session: {
          subject: { issuer: signedIn.issuer, subject: signedIn.subject },
          origin: { identityProvider: name },
          displayName: signedIn.displayName,
          detail: signedIn.detail,
          authTime,
          provedFor: provedForOf(transaction, authTime),
          browser,
          logoutName: signedIn.sessionId && logoutNameOf(signedIn.issuer, signedIn.sessionId),
          groups: signedIn.groups,
        },
        signedInAt: name,
      });
      return { result: 'signed_in', browserSession, returnTo, cookie, maxAge };
    },
  };

  /** With `maxAge` 0, a sign-in may be as old as the transaction, because signing in takes time. */
  function secondsSinceStart({ expiresAt }: LoginTransaction): number {
    return Math.ceil((p.now() - expiresAt) / 1000) + LOGIN_TRANSACTION_SECONDS;
  }
}

export const parseReturnTo = (returnTo: string): ReturnTo | undefined =>
  isAccountPage(returnTo) ? returnTo : parseElicitationId(returnTo);

/**
 * The elicitation for which this sign-in was made. With `max_age=0` the exchange has checked its time. Otherwise the ID token says that it
 * happened after the start, without a tolerance: an earlier sign-in was for something else.
 */
function provedForOf(
  { provesFor, maxAge, expiresAt }: LoginTransaction,
  authTime: number | undefined,
): ElicitationId | undefined {
  const startedAt = expiresAt - LOGIN_TRANSACTION_SECONDS * 1000;
  // An `auth_time` has whole seconds.
  const isAfterStart = authTime !== undefined && authTime >= Math.floor(startedAt / 1000) * 1000;
  return maxAge === 0 || isAfterStart ? parseElicitationId(provesFor ?? '') : undefined;
}

export type SignInFlow = ReturnType<typeof createSignInFlow<ReturnTo>>;
