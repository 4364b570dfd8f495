import cookie from '@fastify/cookie';
import { type BrowserSession, newBrowserSessionId, SHARDS, systemEntropy } from '@postern/elicitation';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { type Browser, createBrowser } from './browser-cookies.ts';

type Handler = (browser: Browser, request: FastifyRequest, reply: FastifyReply) => unknown;

/** Sends one request to a route with the test's handler, through the real cookie plugin. */
async function visit(handler: Handler, p: { publicUrl?: string; cookie?: string } = {}) {
  const ended: string[] = [];
  const browser = createBrowser({
    publicUrl: p.publicUrl ?? 'https://gate.example',
    browserSessions: {
      read: async id => (id === session.id ? session : undefined),
      touch: async () => {},
      end: async id => void ended.push(id),
    },
    entropy: systemEntropy,
    onSession: async () => {},
  });
  const app = Fastify();
  await app.register(cookie);
  app.get('/', async (request, reply) => ({ value: (await handler(browser, request, reply)) ?? null }));
  const answer = await app.inject({ url: '/', headers: p.cookie === undefined ? {} : { cookie: p.cookie } });
  await app.close();
  return {
    status: answer.statusCode,
    value: answer.json().value,
    set: [answer.headers['set-cookie'] ?? []].flat(),
    ended,
  };
}

const shard = SHARDS[7] ?? SHARDS[0];
if (shard === undefined) throw new Error('no shard');
const session: BrowserSession = {
  id: newBrowserSessionId(shard, systemEntropy),
  subject: { issuer: 'https://id.example', subject: 'alice' },
  origin: { identityProvider: 'example-id' },
  displayName: 'Alice',
  createdAt: 0,
  endsAt: 1,
};

describe('S27: cookies', () => {
  const setAll: Handler = async (browser, request, reply) => {
    browser.ensureId(request, reply);
    browser.setLoginCookie(request, reply, 'sealed');
    await browser.startSession(request, reply, session);
  };

  it('have the __Host- prefix, Secure, HttpOnly and SameSite=Lax, and stay small', async () => {
    const { set } = await visit(setAll);
    expect(set).toHaveLength(3);
    for (const line of set) {
      expect(line).toMatch(/^__Host-postern_(session|browser|login0)=/);
      expect(line).toMatch(/; Path=\/(;|$)/);
      expect(line).toMatch(/; HttpOnly(;|$)/);
      expect(line).toMatch(/; Secure(;|$)/);
      expect(line).toMatch(/; SameSite=Lax(;|$)/);
      expect(line).not.toMatch(/domain=/i);
      expect(line.length).toBeLessThan(4096);
    }
    expect(set.find(line => line.includes('login0'))).toMatch(/; Max-Age=600(;|$)/);
  });

  it('lack the prefix and Secure only on plain http, that is on loopback', async () => {
    const { set } = await visit(setAll, { publicUrl: 'http://localhost:8080' });
    for (const line of set) expect(line).toMatch(/^postern_(?!.*; Secure)/);
  });

  it.each(['', 'x', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}%00`, 'a'.repeat(43).replace('a', '!')])(
    'of the browser are replaced when malformed: %j',
    async value => {
      const { value: id, set } = await visit((browser, request, reply) => browser.ensureId(request, reply), {
        cookie: `__Host-postern_browser=${value}`,
      });
      expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(id).not.toBe(value);
      expect(set).toHaveLength(1);
    },
  );

  it('keep a well-formed browser id and ignore the cookie name without prefix', async () => {
    const id = 'a'.repeat(43);
    const bindingOf: Handler = (browser, request) => browser.bindingOf(request);
    expect((await visit(bindingOf, { cookie: `__Host-postern_browser=${id}` })).value).not.toBeNull();
    expect((await visit(bindingOf, { cookie: `postern_browser=${id}` })).value).toBeNull();
  });

  it('hold at most four concurrent sign-ins', async () => {
    const cookies = [0, 1, 2, 3].map(slot => `__Host-postern_login${slot}=s${slot}`).join('; ');
    const { set } = await visit((browser, request, reply) => browser.setLoginCookie(request, reply, 'new'), {
      cookie: cookies,
    });
    expect(set).toHaveLength(1);
    expect(set[0]).toMatch(/^__Host-postern_login[0-3]=new/);
    const { value } = await visit((browser, request) => browser.loginCookies(request), { cookie: cookies });
    expect(value).toEqual(['s0', 's1', 's2', 's3']);
  });
});

describe('S06: browser sessions', () => {
  const read: Handler = async (browser, request) => (await browser.readSession(request))?.id;

  it('are read only for a well-formed cookie', async () => {
    expect((await visit(read, { cookie: `__Host-postern_session=${session.id}` })).value).toBe(session.id);
    for (const value of ['', 'bs_', session.id.slice(0, -1), `${session.id}a`, session.id.replace('bs_', 'el_'), '%zz'])
      expect((await visit(read, { cookie: `__Host-postern_session=${value}` })).value).toBeNull();
  });

  it('end when another one starts in the browser', async () => {
    const old = newBrowserSessionId(shard, systemEntropy);
    const { ended, set } = await visit((browser, request, reply) => browser.startSession(request, reply, session), {
      cookie: `__Host-postern_session=${old}`,
    });
    expect(ended).toEqual([old]);
    expect(set).toContainEqual(expect.stringContaining(`__Host-postern_session=${session.id};`));
  });

  it('assign an id to a browser without one, and keep an existing id', async () => {
    const begin: Handler = (browser, request, reply) => browser.startSession(request, reply, session);
    const given = (set: readonly string[]) => set.filter(line => line.startsWith('__Host-postern_browser='));
    expect(given((await visit(begin)).set)).toHaveLength(1);
    expect(given((await visit(begin, { cookie: `__Host-postern_browser=${'a'.repeat(43)}` })).set)).toEqual([]);
  });

  it('clear a malformed cookie', async () => {
    const { ended, set } = await visit((browser, request, reply) => browser.endSession(request, reply), {
      cookie: '__Host-postern_session=nonsense',
    });
    expect(ended).toEqual([]);
    expect(set[0]).toMatch(/^__Host-postern_session=;.*(Max-Age=0|Expires=Thu, 01 Jan 1970)/);
  });
});

describe('S26: CSRF tokens', () => {
  it('are valid for one secret only', async () => {
    const { value } = await visit(browser => {
      const token = browser.csrfToken('one');
      const attempts = [
        token,
        browser.csrfToken('two'),
        '',
        token.slice(1),
        `${token}a`,
        token.toUpperCase(),
        'é'.repeat(43),
      ];
      return attempts.map(attempt => browser.isCsrfToken(attempt, 'one'));
    });
    expect(value).toEqual([true, false, false, false, false, false, false]);
  });
});
