import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import { isShortRun } from '@postern/testkit/run-size';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atProvider, newPerson, signIn } from '../support/browser.ts';
import type { RawAnswer, RawBrowser } from '../support/raw-browser.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { startTlsProxy, type TlsProxy } from '../support/tls-proxy.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

const YEAR_SECONDS = 31_536_000;
let browser: Browser;
let proxy: TlsProxy;
let world: World;
let signedIn: RawBrowser;
let elicitationId: string;
let user: string;

beforeAll(async () => {
  proxy = await startTlsProxy();
  [browser, world] = await Promise.all([sharedBrowser(), startWorld({ publicUrl: proxy.origin })]);
  proxy.leadTo(world.gateways[0]?.address ?? '');
  user = world.subject();
  elicitationId = (await world.ask(user)).elicitationId;
  signedIn = world.raw();
  await signedIn.signIn(elicitationId, user);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
});

/** Every route with real and invented parameters, every method, and unknown paths. */
async function answers(): Promise<Map<string, RawAnswer>> {
  const found = new Map<string, RawAnswer>();
  const add = async (
    raw: RawBrowser,
    method: string,
    target: string,
    request: Parameters<RawBrowser['request']>[2] = {},
  ) =>
    found.set(
      `${method} ${target} ${raw === signedIn ? 'signed in' : ''}`,
      await raw.request(method, target, { ...request, headers: { 'accept-encoding': 'gzip, br', ...request.headers } }),
    );
  const gateway = world.gateways[0];
  if (gateway === undefined) throw new Error('there is no gateway');
  const unknown = `el_00${'A'.repeat(43)}`;
  for (const { method, path } of registeredRoutes(gateway.app)) {
    for (const id of [elicitationId, unknown, 'x']) {
      const target = path
        .replace(/:(elicitationId|connectionId)/, id)
        .replace(':mcpServerId/:provider', 'tracker/forge');
      for (const raw of [signedIn, world.raw()]) {
        // The status depends on the id and on the session, the headers on neither: the short run takes pairs.
        if (isShortRun && (raw === signedIn) === (id === unknown)) continue;
        // Another test covers sign-out.
        if (path === '/logout' && raw === signedIn) continue;
        await add(raw, method, target, method === 'POST' ? { form: {} } : {});
      }
    }
  }
  const authorization = `Bearer ${keyOf('tracker')}`;
  await add(signedIn, 'GET', `/v1/elicitations/${elicitationId}`, { headers: { authorization } });
  await add(signedIn, 'POST', '/v1/elicitations', {
    headers: { authorization, 'content-type': 'application/json' },
    form: '{"kind":',
  });
  for (const target of ['/', '/nothing', '/v1/nothing', '/e/%', '/assets/nothing.css', '/e/%zz/accept'])
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) await add(signedIn, method, target);
  await add(signedIn, 'POST', `/e/${elicitationId}/device`, { form: `csrf_token=${'x'.repeat(20_000)}` });
  await add(signedIn, 'POST', `/e/${elicitationId}/decline`, {
    form: '{}',
    headers: { 'content-type': 'application/json' },
  });
  await add(signedIn, 'POST', `/e/${elicitationId}/leaving`, { form: {} });
  await add(signedIn, 'POST', '/logout', { form: {}, headers: { 'sec-fetch-site': 'cross-site' } });
  await add(signedIn, 'GET', `/callback/tracker/forge?code=x&state=x`);
  return found;
}

describe('headers', () => {
  it('S29, S28, S30, S214: every response of every route has them, errors included', async () => {
    const all = await answers();
    const seen = new Set([...all.values()].map(({ status }) => status));
    for (const status of [200, 303, 400, 401, 403, 404, 413, 415]) expect(seen).toContain(status);
    for (const [request, { status, headers, rawHeaders }] of all) {
      const of = (name: string) => [request, status, name, headers[name]];
      expect([request, status < 500]).toEqual([request, true]);
      expect(of('x-content-type-options')).toEqual([request, status, 'x-content-type-options', 'nosniff']);
      expect(of('referrer-policy')).toEqual([request, status, 'referrer-policy', 'same-origin']);
      expect(of('cross-origin-opener-policy')).toEqual([request, status, 'cross-origin-opener-policy', 'same-origin']);
      expect(of('cross-origin-resource-policy')).toEqual([
        request,
        status,
        'cross-origin-resource-policy',
        // Authorization servers may show a logo.
        String(headers['content-type']).startsWith('image/') ? 'cross-origin' : 'same-origin',
      ]);
      expect(of('x-frame-options')).toEqual([request, status, 'x-frame-options', 'DENY']);

      const [, hstsSeconds, subdomains] =
        /^max-age=(\d+)(; includeSubDomains)?$/.exec(String(headers['strict-transport-security'])) ?? [];
      expect([request, Number(hstsSeconds) >= YEAR_SECONDS, subdomains !== undefined]).toEqual([request, true, true]);

      // Only public content may be cached: the stylesheet and the script, whose names change with their content, and
      // briefly the icon and the receipt keys.
      const isAsset = request.includes(' /assets/');
      const isKeySet = request.includes(' /.well-known/jwks.json ');
      const isIcon = request.includes(' /favicon.ico ');
      const seconds = isAsset ? '31536000, immutable' : isIcon ? '3600' : isKeySet ? '300' : undefined;
      const kept = seconds === undefined ? 'no-store' : `public, max-age=${seconds}`;
      expect(of('cache-control')).toEqual([request, status, 'cache-control', status === 200 ? kept : 'no-store']);

      // S214: nothing that may hold a token is compressed (BREACH). The rest is the stylesheet and the script.
      const isText = String(headers['content-type']).startsWith('text/');
      const encoding = isAsset && isText && status === 200 ? 'br' : undefined;
      expect(of('content-encoding')).toEqual([request, status, 'content-encoding', encoding]);

      const policy = directivesOf(headers['content-security-policy']);
      expect([request, policy.get('default-src'), policy.get('base-uri'), policy.get('frame-ancestors')]).toEqual([
        request,
        "'none'",
        "'none'",
        "'none'",
      ]);
      expect([request, [...policy.values()].join(' ')]).not.toEqual([
        request,
        expect.stringMatching(/unsafe-|\*|https?:|data:|blob:/),
      ]);
      const isPage = String(headers['content-type']).startsWith('text/html') || request.includes('/status ');
      expect([request, policy.get('script-src')]).toEqual([request, isPage ? "'self'" : undefined]);
      expect(["'self'", "'none'"]).toContain(policy.get('form-action'));

      const names = rawHeaders.filter((_, at) => at % 2 === 0).map(name => name.toLowerCase());
      expect([request, names.filter(name => name.startsWith('access-control-'))]).toEqual([request, []]);
      // S60: no header reveals the software.
      expect([request, names.filter(name => ['server', 'x-powered-by', 'via'].includes(name))]).toEqual([request, []]);
      const repeated = names.filter((name, at) => name !== 'set-cookie' && names.indexOf(name) !== at);
      expect([request, repeated]).toEqual([request, []]);
    }
  });

  it('S30: a preflight gets no permission for pages or the API', async () => {
    const raw = world.raw();
    for (const target of ['/v1/elicitations', `/v1/elicitations/${elicitationId}`, `/e/${elicitationId}`, '/login']) {
      for (const origin of ['https://evil.example', 'null', world.publicUrl]) {
        const preflight = await raw.request('OPTIONS', target, {
          headers: {
            origin,
            'sec-fetch-mode': 'cors',
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'authorization,content-type',
          },
        });
        const simple = await raw.get(target, { headers: { origin, 'sec-fetch-mode': 'cors' } });
        for (const { headers, status } of [preflight, simple]) {
          expect(Object.keys(headers).filter(name => name.startsWith('access-control-'))).toEqual([]);
          expect(status).toBeLessThan(500);
        }
        expect(preflight.status).toBeGreaterThanOrEqual(400);
      }
    }
  });

  it('S26, S212: a form is accepted only from our own page, with its token and the digest that was shown', async () => {
    const form = await signedIn.acceptForm(elicitationId);
    const { csrf_token = '', shown = '' } = form;
    expect(shown).not.toBe('');
    const own = world.publicUrl;
    const sites = ['same-origin', 'same-site', 'cross-site', 'none', undefined];
    const origins = [
      own,
      'https://evil.example',
      'null',
      own.replace('https:', 'http:'),
      `${own}.evil.example`,
      undefined,
    ];
    // A real token, but the wrong digest: the page is shown again.
    const unseen: Record<string, string>[] = [
      { csrf_token },
      { csrf_token, shown: `${shown}x` },
      { csrf_token, shown: '' },
    ];
    const forms: Record<string, string>[] = [
      form,
      ...unseen,
      { shown, csrf_token: 'wrong' },
      { shown, csrf_token: `${csrf_token}x` },
      { shown },
      {},
      { ...form, more: '1' },
    ];
    const statuses = new Map<string, number>();
    for (const site of sites) {
      for (const origin of origins) {
        for (const fields of forms) {
          const isOurs =
            site === undefined
              ? origin === own
              : site === 'same-origin' && (origin === undefined || origin === 'null' || origin === own);
          // What another site sends is refused before its form is read.
          if (isShortRun && !isOurs && fields !== form) continue;
          const answer = await signedIn.post(`/e/${elicitationId}/accept`, {
            form: fields,
            headers: { 'sec-fetch-site': site, origin },
          });
          const about = `${site} ${origin} ${forms.indexOf(fields)}`;
          statuses.set(about, answer.status);
          if (isOurs && fields === form) expect([about, answer.status]).toEqual([about, 303]);
          else if (isOurs && unseen.includes(fields)) expect([about, answer.status]).toEqual([about, 409]);
          else expect([about, [400, 403].includes(answer.status)]).toEqual([about, true]);
        }
      }
    }
    expect([...statuses.values()].filter(status => status === 303)).toHaveLength(4);
    expect([...statuses.values()].filter(status => status === 409)).toHaveLength(4 * unseen.length);
    // A real token of another session.
    const other = world.raw();
    await other.signIn(elicitationId, user);
    const theirs = { csrf_token: await other.csrfToken(elicitationId) };
    expect((await signedIn.post(`/e/${elicitationId}/decline`, { form: theirs })).status).toBe(403);
    expect((await signedIn.post(`/e/${elicitationId}/decline?csrf_token=${csrf_token}`)).status).toBe(400);
    expect((await world.api.read(elicitationId)).body.status).toBe('active');
  });

  it('S27: cookies are bound to the host, secure, hidden from scripts, Lax and small', async () => {
    const raw = world.raw();
    const start = await raw.get(`/login?e=${elicitationId}`);
    const signed = await world.raw().signIn(elicitationId, user);
    const out = world.raw();
    await out.signIn(elicitationId, user);
    const left = await out.post('/logout', { form: { csrf_token: await out.csrfToken(elicitationId) } });
    const lines = [start, signed, left].flatMap(({ setCookies }) => setCookies);
    expect(lines.length).toBeGreaterThanOrEqual(4);
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split('; ');
      const names = attributes.map(attribute => attribute.toLowerCase());
      expect(pair).toMatch(/^__Host-postern_[a-z0-9]+=/);
      expect(names).toEqual(expect.arrayContaining(['path=/', 'httponly', 'secure', 'samesite=lax']));
      expect(names.filter(name => name.startsWith('domain'))).toEqual([]);
      expect(Buffer.byteLength(line)).toBeLessThan(4096);
    }
  });

  it('S27: a cookie without the __Host- prefix is ignored', async () => {
    const tossed = world.raw();
    for (const [name, value] of signedIn.cookies) tossed.cookies.set(name.replace('__Host-', ''), value);
    expect((await tossed.get(`/e/${elicitationId}`)).body).not.toContain('csrf_token');
  });
});

describe('in chromium, over TLS', () => {
  it('S27, S28, S33: the whole flow works under the CSP, loads no foreign resource and leaves nothing in storage', async () => {
    const someone = world.subject();
    await using person = await newPerson(browser, someone);
    const { page, context } = person;
    const violations: string[] = [];
    const subresources: string[] = [];
    const referrers: Promise<string | undefined>[] = [];
    page.on('console', message => {
      if (/content security policy/i.test(message.text())) violations.push(message.text());
    });
    page.on('request', request => {
      const from = request.frame().url();
      if (!request.isNavigationRequest() && from.startsWith(proxy.origin)) subresources.push(request.url());
      // As sent: what the browser first reports does not respect the policy yet.
      if (!request.url().startsWith(proxy.origin))
        referrers.push(request.allHeaders().then(headers => headers['referer']));
    });
    const issued = await world.ask(someone);
    await page.goto(issued.url);
    await signIn(page, someone);
    await page.locator('form[action$="/accept"] button').click();
    await atProvider(page, 'alice');
    await page.waitForURL(issued.url);
    expect((await world.api.read(issued.elicitationId)).body.status).toBe('completed');

    expect(violations).toEqual([]);
    expect(subresources.filter(url => !url.startsWith(proxy.origin))).toEqual([]);
    expect(referrers.length).toBeGreaterThan(0);
    for (const referrer of await Promise.all(referrers)) expect(referrer ?? '').not.toContain(proxy.origin);
    const cookies = await context.cookies(proxy.origin);
    const own = cookies.filter(({ name }) => name.includes('postern'));
    expect(own.map(({ name }) => name).sort()).toEqual([
      '__Host-postern_browser',
      '__Host-postern_session',
      '__Host-postern_view',
    ]);
    for (const cookie of own)
      expect(cookie).toMatchObject({
        httpOnly: cookie.name !== '__Host-postern_view',
        secure: true,
        sameSite: 'Lax',
        path: '/',
        domain: 'localhost',
      });
    expect(await page.evaluate('document.cookie')).toMatch(/^__Host-postern_view=tz=[\w%+-]+$/);

    const devtools = await context.newCDPSession(page);
    const { entries } = await devtools.send('Page.getNavigationHistory');
    const addresses = entries.map(({ url }) => url).filter(url => url.startsWith(proxy.origin));
    expect(addresses.filter(url => /[?&](code|state)=/.test(url))).toEqual([]);
  });

  inFull.it('S09: neither a form nor a frame of another site can submit a decision', async () => {
    const someone = world.subject();
    await using person = await newPerson(browser, someone);
    const { page } = person;
    const issued = await world.ask(someone);
    await page.goto(issued.url);
    await signIn(page, someone);
    await page.locator('form[action$="/accept"]').waitFor();
    const token = await page.locator('form[action$="/accept"] input[name=csrf_token]').inputValue();

    // The provider's origin plays the hostile site. Even with the token it has no effect.
    await page.goto(`${world.provider.issuer}/jwks`);
    const answered = page.waitForResponse(response => response.url() === `${issued.url}/accept`);
    await page.evaluate(
      `document.body.innerHTML = '<form method="post" action="${issued.url}/accept"><input name="csrf_token" value="${token}"></form>'; document.forms[0].submit()`,
    );
    expect([401, 403]).toContain((await answered).status());
    await page.waitForURL(`${issued.url}/accept`);

    await page.goto(`${world.provider.issuer}/jwks`);
    await page.evaluate(`document.body.innerHTML = '<iframe src="${issued.url}"></iframe>'`);
    const frame = page.frameLocator('iframe');
    await page.waitForLoadState('networkidle');
    expect(await frame.locator('main').count()).toBe(0);
    expect((await world.api.read(issued.elicitationId)).body.status).toBe('pending');
  });
});

function directivesOf(policy: string | string[] | undefined): Map<string, string> {
  return new Map(
    String(policy)
      .split(';')
      .map(directive => {
        const [name = '', ...values] = directive.trim().split(/\s+/);
        return [name, values.join(' ')];
      }),
  );
}
