import { createHmac, timingSafeEqual } from 'node:crypto';
import type { CookieSerializeOptions } from '@fastify/cookie';
import {
  type BrowserSession,
  type BrowserSessionId,
  type BrowserSessionOwner,
  digestOf,
  type Elicitation,
  type Entropy,
  parseBrowserSessionId,
  type Stores,
  type Visitor,
} from '@postern/elicitation';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { identified } from '../platform/http/unknown-callers.ts';

/** Maximum duration of a sign-in, in seconds. */
export const LOGIN_TRANSACTION_SECONDS = 600;

/** Maximum duration of a sign-out at an identity provider, in seconds. */
export const LOGOUT_SECONDS = 600;

/** Concurrent sign-ins per browser. Bounded, so that a page cannot flood the browser with cookies. */
const LOGIN_COOKIES = 4;
const BROWSER_ID = /^[A-Za-z0-9_-]{43}$/;

/** Names of cookies, without their common prefix. */
interface CookieNames {
  readonly session: string;
  readonly browser: string;
  readonly login: string;
  readonly logout: string;
}

const userCookies: CookieNames = { session: 'session', browser: 'browser', login: 'login', logout: 'logout' };

/**
 * The cookies of the gateway: the browser session's id, an id of the browser itself (which ties a provider's callback to the browser that
 * started it), the sign-ins in progress, and the last sign-out at an identity provider.
 */
export function createBrowser(p: {
  publicUrl: string;
  browserSessions: Pick<Stores['browserSessions'], 'read' | 'touch' | 'end'>;
  /** Default: those of the hosted pages. */
  cookies?: CookieNames;
  entropy: Entropy;
  /** Called with each browser session that is read, before any page is shown. */
  onSession?: (request: FastifyRequest, browserSession: BrowserSession) => Promise<void>;
}) {
  // `__Host-` (RFC 6265bis section 4.1.3.2) needs https. Plain http is only ever a loopback address.
  const secure = p.publicUrl.startsWith('https:');
  const named = (name: string) => (secure ? `__Host-postern_${name}` : `postern_${name}`);
  const options: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure };
  const { session, browser, login, logout } = p.cookies ?? userCookies;
  const names = {
    session: named(session),
    browser: named(browser),
    login: (slot: number) => named(`${login}${slot}`),
    logout: named(logout),
  };

  const browserIdOf = (request: FastifyRequest): string | undefined => {
    const value = request.cookies[names.browser];
    return value !== undefined && BROWSER_ID.test(value) ? value : undefined;
  };
  const sessionIdOf = (request: FastifyRequest): BrowserSessionId | undefined =>
    parseBrowserSessionId(request.cookies[names.session] ?? '');

  const csrfToken = (secret: string): string => createHmac('sha256', secret).update('postern csrf').digest('base64url');

  return {
    async readSession(request: FastifyRequest): Promise<BrowserSession | undefined> {
      const id = sessionIdOf(request);
      const browserSession = id === undefined ? undefined : await p.browserSessions.read(id);
      if (browserSession === undefined) return undefined;
      identified(request, { kind: 'person', id: JSON.stringify(browserSession.subject) });
      await p.onSession?.(request, browserSession);
      return browserSession;
    },

    /** Restarts the idle timeout after a form post. A GET does not call this, because it may write nothing. */
    async keepAlive(request: FastifyRequest): Promise<void> {
      const id = sessionIdOf(request);
      if (id !== undefined) await p.browserSessions.touch(id);
    },

    /**
     * Every sign-in gets a new session id; the previous session ends. A browser without an id gets it here: if the first decision
     * assigned it, two concurrent decisions would assign two ids, and one attempt would then belong to a foreign browser.
     */
    async startSession(request: FastifyRequest, reply: FastifyReply, session: BrowserSession): Promise<void> {
      await this.endSession(request, reply);
      this.ensureId(request, reply);
      reply.setCookie(names.session, session.id, options);
    },

    async endSession(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const id = sessionIdOf(request);
      if (id !== undefined) await p.browserSessions.end(id);
      if (request.cookies[names.session] !== undefined) reply.clearCookie(names.session, options);
    },

    digest: (browserId: string): string => digestOf(browserId),

    /** Returns the digest of this browser's id, or undefined if it has none. */
    bindingOf(request: FastifyRequest): string | undefined {
      const id = browserIdOf(request);
      return id === undefined ? undefined : digestOf(id);
    },

    /** Returns this browser's id; assigns one if it has none. */
    ensureId(request: FastifyRequest, reply: FastifyReply): string {
      const existing = browserIdOf(request);
      if (existing !== undefined) return existing;
      const id = Buffer.from(p.entropy(32)).toString('base64url');
      reply.setCookie(names.browser, id, options);
      return id;
    },

    loginCookies: (request: FastifyRequest): (string | undefined)[] =>
      Array.from({ length: LOGIN_COOKIES }, (_, slot) => request.cookies[names.login(slot)]),

    setLoginCookie(request: FastifyRequest, reply: FastifyReply, value: string): void {
      const free = this.loginCookies(request).indexOf(undefined);
      const slot = free === -1 ? (p.entropy(1)[0] ?? 0) % LOGIN_COOKIES : free;
      reply.setCookie(names.login(slot), value, { ...options, maxAge: LOGIN_TRANSACTION_SECONDS });
    },

    clearLoginCookie(reply: FastifyReply, slot: number): void {
      reply.clearCookie(names.login(slot), options);
    },

    setLogoutCookie(reply: FastifyReply, value: string): void {
      reply.setCookie(names.logout, value, { ...options, maxAge: LOGOUT_SECONDS });
    },

    /** Returns the value of the cookie, and deletes the cookie. */
    takeLogoutCookie(request: FastifyRequest, reply: FastifyReply): string | undefined {
      const value = request.cookies[names.logout];
      if (value !== undefined) reply.clearCookie(names.logout, options);
      return value;
    },

    /** Synchronizer token, derived from a secret that this browser and the gateway share. Needs no storage. */
    csrfToken,

    isCsrfToken(given: string, secret: string): boolean {
      const expected = Buffer.from(csrfToken(secret));
      const actual = Buffer.from(given);
      return expected.byteLength === actual.byteLength && timingSafeEqual(expected, actual);
    },
  };
}

export type Browser = ReturnType<typeof createBrowser>;

/**
 * Returns the identity that the browser session proves in the identity mode of this elicitation, or undefined if it proves none. A
 * sign-in of another identity mode proves nothing here: the page then asks for the right sign-in instead of reporting a wrong person.
 */
export function visitorOf(elicitation: Elicitation, browserSession: BrowserSession | undefined): Visitor | undefined {
  if (elicitation.identityMode === 'loopback') return { kind: 'loopback' };
  if (browserSession === undefined) return undefined;
  const { origin, subject } = browserSession;
  if (elicitation.identityMode === 'login') return 'vouchedBy' in origin ? undefined : { kind: 'signed_in', subject };
  const isVouched = 'vouchedBy' in origin && origin.vouchedBy === elicitation.mcpServerId;
  return isVouched ? { kind: 'signed_in', subject, vouchedBy: origin.vouchedBy } : undefined;
}

/** The person that a browser session proves. */
export function visitorIn({ origin, subject }: BrowserSessionOwner): Extract<Visitor, { kind: 'signed_in' }> {
  return { kind: 'signed_in', subject, ...('vouchedBy' in origin ? { vouchedBy: origin.vouchedBy } : {}) };
}
