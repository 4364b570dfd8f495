import { AuthorizationError, type SignedIn } from '@postern/authorization';
import {
  type BrowserSession,
  type Clock,
  digestOf,
  type ElicitationId,
  type Entropy,
  newBrowserSessionId,
  parseElicitationId,
  shardOf,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { IdentityProvider } from '../deps.ts';
import type { Events } from '../events.ts';
import { signInRedirectUriOf } from './redirect-uri.ts';
import { sessionLifetime } from './session-lifetime.ts';
import { unsealTransaction } from './unseal-transaction.ts';

export const LOGIN_TRANSACTION_SECONDS = 600;

const loginTransactionSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  issuer: z.string(),
  returnTo: z.string().optional(),
  maxAge: z.number().optional(),
  provesFor: z.string().optional(),
  expiresAt: z.number(),
});
type LoginTransaction = z.infer<typeof loginTransactionSchema>;

/** Where a person wanted to go when asked to sign in: to an elicitation, by its id, or to their connections. */
export type ReturnTo = ElicitationId | 'me';

export type SignInResult =
  | {
      readonly result: 'signed_in';
      readonly browserSession: BrowserSession;
      readonly returnTo: ReturnTo | undefined;
      readonly cookie: number;
      /** The age of a sign-in, in seconds, that was asked for. */
      readonly maxAge: number | undefined;
    }
  /** The identity provider refused, is not there, or gave an answer that is not valid. */
  | {
      readonly result: 'refused';
      readonly error: AuthorizationError;
      readonly returnTo: ReturnTo | undefined;
      readonly cookie: number;
    }
  /** No transaction of this browser matches, or it was used before. */
  | { readonly result: 'unknown' };

/**
 * Sign-in at an identity provider. The transaction lives in a sealed cookie of the browser, so that starting one writes
 * nothing; it is claimed once when the answer comes.
 */
export function createSignInFlow(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'browserSession'>;
  events: Events;
  stores: Pick<RedisStores, 'oneTime' | 'browserSessions'>;
  vault: Vault;
  identityProviders: readonly IdentityProvider[];
  now: Clock;
  entropy: Entropy;
}) {
  const redirectUriOf = ({ config: { name } }: IdentityProvider) => signInRedirectUriOf(p.config.publicUrl, name);
  const lifetime = sessionLifetime(p.config.browserSession);
  const random = () => Buffer.from(p.entropy(32)).toString('base64url');

  // Deployments may share a vault key: a transaction counts in the one that began it.
  const context = { purpose: 'login-transaction', deployment: p.config.publicUrl };
  const openTransaction = (sealed: string) => unsealTransaction(p, loginTransactionSchema, sealed, context);

  return {
    /** By its name in the configuration; the first one where none is named. */
    identityProviderNamed(name: string | undefined): IdentityProvider | undefined {
      return name === undefined
        ? p.identityProviders[0]
        : p.identityProviders.find(candidate => candidate.config.name === name);
    },

    /** @throws AuthorizationError when the identity provider cannot be used. */
    async start(request: {
      identityProvider: IdentityProvider;
      returnTo: ReturnTo | undefined;
      again: boolean;
      /** Oldest sign-in that will do, in seconds. With 0, only one that happens after this start. */
      maxAge?: number;
      /** The elicitation for which this sign-in proves its person. Counts only with `maxAge` 0. */
      provesFor?: ElicitationId;
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
        ...(request.again ? { prompt: 'login' as const } : {}),
        ...(maxAge === undefined ? {} : { maxAge }),
      });
      const transaction: LoginTransaction = {
        state,
        nonce,
        codeVerifier,
        issuer: request.identityProvider.config.issuer,
        expiresAt: p.now() + LOGIN_TRANSACTION_SECONDS * 1000,
        ...(request.returnTo === undefined ? {} : { returnTo: request.returnTo }),
        ...(maxAge === undefined ? {} : { maxAge }),
        ...(request.provesFor === undefined ? {} : { provesFor: request.provesFor }),
      };
      return { authorizationUrl, cookie: await p.vault.seal(JSON.stringify(transaction), context) };
    },

    /**
     * Ends a sign-in in the browser that began it and creates a browser session under a new id.
     *
     * A response at the redirect URI of another identity provider is a mix-up (RFC 9700 section 4.4): its code is never exchanged, and
     * the transaction is used up.
     */
    async finish(callbackUrl: URL, cookies: readonly (string | undefined)[]): Promise<SignInResult> {
      const [state, ...more] = callbackUrl.searchParams.getAll('state');
      if (state === undefined || more.length > 0) return { result: 'unknown' };
      for (const [cookie, sealed] of cookies.entries()) {
        const transaction = sealed === undefined ? undefined : await openTransaction(sealed);
        if (transaction?.state !== state) continue;
        const identityProvider = p.identityProviders.find(candidate => candidate.config.issuer === transaction.issuer);
        if (identityProvider === undefined) return { result: 'unknown' };
        // The cookie can be replayed as long as the browser keeps it; the claim cannot.
        if (!(await p.stores.oneTime.claim(digestOf(`login ${state}`), LOGIN_TRANSACTION_SECONDS * 1000)))
          return { result: 'unknown' };
        const { nonce, codeVerifier, maxAge } = transaction;
        const returnTo = returnToOf(transaction);
        const redirectUri = redirectUriOf(identityProvider);
        if (callbackUrl.pathname !== redirectUri.pathname)
          return { result: 'refused', error: new AuthorizationError('issuer_mismatch'), returnTo, cookie };
        let person: SignedIn;
        try {
          person = await identityProvider.signIn.finish({
            callbackUrl,
            redirectUri,
            state,
            nonce,
            codeVerifier,
            ...(maxAge === undefined ? {} : { maxAge: maxAge === 0 ? secondsSinceStart(transaction) : maxAge }),
          });
        } catch (error) {
          if (error instanceof AuthorizationError) return { result: 'refused', error, returnTo, cookie };
          throw error;
        }
        const browserSession = await createBrowserSession(
          person,
          identityProvider.config.name,
          provedForOf(transaction),
        );
        return { result: 'signed_in', browserSession, returnTo, cookie, maxAge };
      }
      return { result: 'unknown' };
    },
  };

  /** A sign-in takes time: one that must not be older than the request may be as old as the transaction. */
  function secondsSinceStart({ expiresAt }: LoginTransaction): number {
    return Math.ceil((p.now() - expiresAt) / 1000) + LOGIN_TRANSACTION_SECONDS;
  }

  async function createBrowserSession(
    person: SignedIn,
    identityProvider: string,
    provedFor: ElicitationId | undefined,
  ): Promise<BrowserSession> {
    const subject = { issuer: person.issuer, subject: person.subject };
    const browserSession = await p.stores.browserSessions.create(
      {
        id: newBrowserSessionId(shardOf(subject), p.entropy),
        subject,
        origin: { identityProvider },
        displayName: person.displayName,
        ...(person.detail === undefined ? {} : { detail: person.detail }),
        ...(person.authTime === undefined ? {} : { authTime: person.authTime }),
        ...(provedFor === undefined ? {} : { provedFor }),
      },
      lifetime,
    );
    p.events.signedIn({ subject, origin: identityProvider });
    return browserSession;
  }
}

function returnToOf({ returnTo }: LoginTransaction): ReturnTo | undefined {
  return returnTo === 'me' ? returnTo : parseElicitationId(returnTo ?? '');
}

function provedForOf({ provesFor, maxAge }: LoginTransaction): ElicitationId | undefined {
  return maxAge === 0 ? parseElicitationId(provesFor ?? '') : undefined;
}

export type SignInFlow = ReturnType<typeof createSignInFlow>;
