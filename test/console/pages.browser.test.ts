import { matchCodeOf, parseElicitationId } from '@postern/elicitation';
import { hasNewElement, sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bookTerms, issueFor, paymentOf } from '../support/asks.ts';
import { connected } from '../support/connections.ts';
import { expectInContract } from '../support/contract.ts';
import { axeFindings, layoutFaults, NARROW } from '../support/page-checks.ts';
import { paidPerson } from '../support/payment-person.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { sendBytes } from '../support/raw-http.ts';
import { watchWrites } from '../support/redis-writes.ts';
import { isShortRun } from '../support/run-size.ts';
import { keyOf, type PayingWorld } from '../support/world.ts';
import { consoleAddress, csrfTokenIn, signedIn, startConsoleWorld } from './console-world.ts';

const HOSTILE = '"><svg/onload=zz>';
const SECRET = 'ak_consolecanary1';
const SECRET_TEXT = 'Pasted-Canary-4711';
const SCRIPT = /^<script src="\/assets\/console-[\w-]{16}\.js" defer>$/;

let world: PayingWorld;
let operator: RawBrowser;
let cancelled: string;
let paid: string;
let taken: string;
let job: string;
beforeAll(async () => {
  world = await startConsoleWorld({ payment: {} });
  operator = await signedIn(world, 'mallory', '/login?to=%2F&fresh=1');
  const asked = await world.ask(HOSTILE);
  cancelled = asked.elicitationId;
  await world.api.cancel(cancelled);
  await connected(world, { user: 'mallory' });
  job = await startedJob();
  await connected(world, { user: 'alice' });
  paid = (await issueFor(world, HOSTILE, paymentOf({ payee: { name: `Shop ${HOSTILE}` }, processor: 'none' })))
    .elicitationId;
  taken = (await paidPerson(world)).elicitationId;
});
afterAll(() => world[Symbol.asyncDispose]());

async function startedJob(): Promise<string> {
  const form = { csrf_token: csrfTokenIn(await operator.get('/disconnect?provider=forge')), reason: HOSTILE };
  return (await operator.post('/disconnect', { form: { ...form, provider: 'forge' } })).location ?? 'no job';
}

async function found(text: string) {
  return operator.post('/find', { form: { csrf_token: csrfTokenIn(await operator.get('/find')), text } });
}

/** A page with a number to give out. */
const refusedPage = () =>
  world.raw().post(`/e/${paid}/accept`, { form: {}, headers: { origin: 'https://evil.example' } });

async function takenPayment() {
  const elicitationId = parseElicitationId(taken);
  const stores = world.gateways[0]?.deps.stores;
  const of = elicitationId && (await stores?.elicitations.read(elicitationId));
  const [{ processorReference } = {}] = (elicitationId && (await stores?.payments.list(elicitationId))) ?? [];
  const page = await operator.get(`/payments/${taken}`);
  const subject = /pseudonym.*?<code[^>]*><bdi>([\w-]{16})</s.exec(page.body)?.[1];
  if (of?.request.kind !== 'payment' || processorReference === undefined || subject === undefined)
    throw new Error('no payment');
  return { reference: of.request.terms.reference, processorReference, subject };
}

const paths = () => [
  '/find',
  '/',
  '/?range=month',
  '/elicitations',
  '/elicitations?phase=ended&kind=authorization',
  `/elicitations/${cancelled}`,
  `/elicitations/${paid}`,
  '/connections?provider=forge&since=2026-01-01',
  '/credentials',
  '/payments?phase=open',
  '/payments',
  `/payments/${paid}`,
  `/payments/${taken}`,
  `/payments/${taken}/refund`,
  `/payments/${taken}/refund?amount=5.00`,
  `/payments/${taken}/refund?amount=${encodeURIComponent(HOSTILE)}`,
  '/webhooks',
  '/api-keys',
  '/people',
  '/jobs',
  job,
  '/disconnect?provider=forge&mcpServer=tracker&since=2026-01-01',
  `/elicitations/${paid}/cancel`,
  `/elicitations/${cancelled}/cancel`,
  '/audit?event=admin',
];

describe('S138: what operators look at', () => {
  it('lists elicitations by their filters, under a permanent link', async () => {
    const open = await operator.get('/elicitations?kind=payment');
    expect(open.status).toBe(200);
    expect(open.body).toContain(paid);
    expect(open.body).not.toContain(cancelled);
    const ended = await operator.get('/elicitations?phase=ended&status=cancelled&mcpServer=tracker&provider=forge');
    expect(ended.body).toContain(cancelled);
    expect(ended.body).not.toContain(paid);
    expect((await operator.get('/payments?phase=open')).body).toContain('24.90 EUR');
  });

  it('shows a dispute in its own currency, as the API does', async () => {
    const payments = world.gateways[0]?.deps.stores.payments;
    const elicitationId = parseElicitationId(taken);
    const [payment] = (elicitationId && (await payments?.list(elicitationId))) ?? [];
    if (payments === undefined || payment === undefined) throw new Error('no payment');
    const claimed = { currency: 'USD', minorUnits: 2710 };
    const dispute = { processorReference: 'du_1', ...claimed, status: 'inquiry', createdAt: 1 } as const;
    await payments.put({ payment: { ...payment, disputes: [dispute] }, announces: 'payment.disputed' });
    expect((await operator.get(`/payments/${taken}`)).body).toContain('27.10 USD');
    const answer = await world.api.call('GET', `/v1/payments/${taken}`);
    expectInContract('readPayment', answer);
    expect(answer.body).toMatchObject({ amount: { currency: 'EUR' }, disputes: [claimed] });
  });

  it.each(['/elicitations?phase=lost', '/connections?since=yesterday', '/elicitations?cursor=x', '/?range=year'])(
    'refuses %s',
    async path => {
      expect((await operator.get(path)).status).toBe(400);
    },
  );

  it('has no line of the audit trail before there was one', async () => {
    expect((await operator.get('/audit?until=0001-01-01')).status).toBe(200);
    expect((await operator.get('/audit?since=0001-01-01')).status).toBe(200);
  });

  it('shows one elicitation as a timeline with request ids, and records that it was looked at', async () => {
    await expect
      .poll(async () => (await operator.get(`/elicitations/${cancelled}`)).body, { timeout: 60_000, interval: 500 })
      .toMatch(/<code><bdi>rq_[\w-]{16}/);
    const { body } = await operator.get(`/elicitations/${cancelled}`);
    const names = [...body.matchAll(/<li><time [^>]*>.*?<b><bdi>([^<]+)</gs)].map(([, name]) => name);
    expect(names.indexOf('elicitation.issued')).toBeGreaterThanOrEqual(0);
    expect(names.indexOf('elicitation.cancelled')).toBeGreaterThan(names.indexOf('elicitation.issued'));
    const audit = await operator.get('/audit?event=admin.person_viewed');
    expect(audit.body).toContain('admin.person_viewed');
    expect(audit.body).toContain('mallory');
  });

  it('S214: sends its stylesheet and script compressed, and no page', async () => {
    const headers = { 'accept-encoding': 'gzip, br' };
    const page = await operator.get('/', { headers });
    expect(page.headers['content-encoding']).toBeUndefined();
    const files = [...page.body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(files).toHaveLength(2);
    for (const path of files)
      expect((await operator.get(path, { headers })).headers).toMatchObject({
        'content-encoding': 'br',
        'cache-control': 'public, max-age=31536000, immutable',
      });
  });

  it('lets no other site record a look in the name of an operator', async () => {
    const lines = async () => (await operator.get('/audit?event=admin.person_viewed')).body.split('<tr').length;
    const before = await lines();
    const look = (site: string) => operator.get(`/elicitations/${paid}`, { headers: { 'sec-fetch-site': site } });
    for (const site of ['cross-site', 'same-site']) {
      const { status, body } = await look(site);
      expect(status).toBe(200);
      expect(body).not.toContain(HOSTILE);
      expect(body).toContain(`href="/elicitations/${paid}"`);
    }
    expect((await operator.request('HEAD', `/elicitations/${paid}`)).status).toBe(404);
    expect(await lines()).toBe(before);
    for (const site of ['same-origin', 'none']) expect((await look(site)).body).toContain('elicitation.issued');
    expect(await lines()).toBe(before + 2);
  });

  it('looks a person up by a form with a reason, which is in the audit trail and in no URL', async () => {
    const csrf_token = csrfTokenIn(await operator.get('/people'));
    const form = { csrf_token, issuer: world.identityProvider.issuer, subject: HOSTILE, reason: 'ticket 4711' };
    expect((await operator.post('/people', { form: { ...form, reason: ' ' } })).status).toBe(400);
    expect((await operator.post('/people', { form: { ...form, csrf_token: 'x' } })).status).toBe(403);
    const found = await operator.post('/people', { form });
    expect(found.status).toBe(200);
    expect(found.body).toContain(paid);
    expect((await operator.get('/audit?event=admin.person_viewed')).body).toContain('ticket 4711');
  });

  it.each([
    [
      'the number of an error page',
      async () => /rq_[\w-]{16}/.exec((await refusedPage()).body)?.[0] ?? '',
      'page.failed',
    ],
    ['an elicitation', async () => cancelled, () => `/elicitations/${cancelled}`],
    ['a link', async () => `${world.publicUrl}/e/${paid}`, () => `/elicitations/${paid}`],
    [
      'a match code, in any case',
      async () => matchCodeOf(parseElicitationId(paid) ?? 'el_').toLowerCase(),
      () => `/elicitations/${paid}`,
    ],
    ['an order', async () => (await takenPayment()).reference, () => `/payments/${taken}`],
    ['a reference of the processor', async () => (await takenPayment()).processorReference, () => `/payments/${taken}`],
    ['a job', async () => job.split('/').at(-1) ?? '', () => job],
    ['a pseudonym', async () => (await takenPayment()).subject, () => `/elicitations/${taken}`],
  ])('S210: finds %s', async (_, textOf, expected) => {
    const wanted = typeof expected === 'string' ? expected : `href="${expected()}"`;
    const text = await textOf();
    // Lines of people are in the audit trail a moment later.
    await expect.poll(async () => (await found(text)).body, { timeout: 60_000, interval: 500 }).toContain(wanted);
  });

  it('S210: a secret that is pasted is searched nowhere, and is in no page, URL, log or audit line', async () => {
    const apiKey = keyOf('tracker');
    for (const [text, leads] of [
      [apiKey, true],
      [`pk_${'A'.repeat(43)}`, false],
      ['Bearer abc', false],
    ] as const) {
      const page = await found(` ${text} `);
      expect(page.status).toBe(200);
      expect(page.body).toContain('class="warning"');
      expect(page.body.includes('/audit?apiKey=ak_')).toBe(leads);
      expect(page.body).not.toContain(text);
    }
    const csrf_token = csrfTokenIn(await operator.get('/audit'));
    const filtered = (form: Record<string, string>) => operator.post('/audit', { form: { csrf_token, ...form } });
    const ofKey = await filtered({ apiKey, event: '' });
    expect(ofKey).toMatchObject({ status: 303, location: expect.stringMatching(/^\/audit\?apiKey=ak_\w+$/) });
    const unknown = await filtered({ apiKey: SECRET_TEXT });
    expect(unknown).toMatchObject({ status: 422, location: undefined });
    expect(unknown.body).not.toContain(SECRET_TEXT);
    expect((await filtered({ event: SECRET_TEXT })).status).toBe(400);
    expect((await filtered({ event: 'admin', since: '2026-01-01' })).location).toBe(
      '/audit?event=admin&since=2026-01-01',
    );
    expect((await operator.get('/audit')).body).not.toMatch(/<form class="filters" method="get"/);
    const lines = (await world.gateways[0]?.deps.stores.audits.readBack({ limit: 5_000 })) ?? [];
    for (const text of [apiKey, SECRET_TEXT, 'A'.repeat(43)])
      expect(`${world.log()}${lines.map(({ line }) => line).join('')}`).not.toContain(text);
  });

  it('S210: says where the log has the number that the audit trail does not have', async () => {
    const { status, body } = await found(`rq_${'A'.repeat(16)}`);
    expect(status).toBe(200);
    expect(body).toContain('<code>requestId</code>');
    expect((await operator.post('/find', { form: { text: 'x' } })).status).toBe(400);
    expect((await operator.get('/find?text=x')).body).not.toContain('value="x"');
  });

  it('draws what happened, with a table behind each chart', async () => {
    await expect
      .poll(async () => (await operator.get('/')).body, { timeout: 60_000, interval: 500 })
      .toMatch(/mcpServer=tracker&#38;kind=payment"/);
    const { body } = await operator.get('/');
    expect(body.match(/<figure/g)).toHaveLength(4);
    expect(body.match(/<figure[\s\S]*?<table>[\s\S]*?<\/figure>/g)?.length).toBeGreaterThanOrEqual(2);
  });
});

/** Opens a page in chromium, as the operator of this session. */
async function withPage(options: BrowserContextOptions, use: (page: Page) => Promise<void>, session = operator) {
  const url = consoleAddress(world);
  const context = await (await sharedBrowser()).newContext({ ...options, baseURL: url });
  try {
    await context.addCookies([...session.cookies].map(([name, value]) => ({ name, value, url })));
    await use(await context.newPage());
  } finally {
    await context.close();
  }
}

describe('S168: without the script', () => {
  it('the page of a job reloads until the job has ended, and no page is cut short', async () => {
    await withPage({ javaScriptEnabled: false }, async page => {
      for (const path of ['/', job, '/api-keys']) {
        await page.goto(path);
        expect(await page.locator('main h1').isVisible()).toBe(true);
        expect(await page.locator('[data-pause]:visible, [data-stale]:visible').count()).toBe(0);
      }
    });
    const { body } = await operator.get(job);
    expect(body.includes('<noscript><meta http-equiv="refresh"')).toBe(!body.includes('data-live="0"'));
    expect((await operator.get('/')).body).not.toContain('http-equiv="refresh"');
  });
});

inFull.describe('S168: with the script', () => {
  it('shows the age and the local time of each time beside UTC', async () => {
    await withPage({ timezoneId: 'Asia/Tokyo' }, async page => {
      await page.goto(`/elicitations/${cancelled}`);
      expect(await page.locator('time').count()).toBeGreaterThan(3);
      for (const note of await page.locator('time small').allTextContents()) expect(note).toMatch(/ · .*GMT\+9$/);
      expect(await page.locator('time small').count()).toBe(await page.locator('time').count());
    });
  });

  it('sends a form once, and shows that its button is busy', async () => {
    await withPage({}, async page => {
      await page.route('**/people', route =>
        route.request().method() === 'POST' ? route.fulfill({ status: 204 }) : route.continue(),
      );
      await page.goto('/people');
      await page.fill('[name=subject]', 'alice');
      await page.fill('[name=reason]', 'ticket 12');
      const [sent, busy] = await page.evaluate<[number, string | null]>(`(() => {
        let sent = 0;
        addEventListener('submit', event => { sent += event.defaultPrevented ? 0 : 1 });
        const button = document.querySelector('main .filters button');
        for (let times = 0; times < 3; times += 1) button.form.requestSubmit(button);
        return [sent, button.getAttribute('aria-busy')];
      })()`);
      expect([sent, busy]).toEqual([1, 'true']);
    });
  });
});

describe('S169: a page that keeps itself up to date', () => {
  const LATER_MS = 60_000;
  const waiting = (page: Page) => page.locator('.tiles dd').first().textContent();

  it('keeps the focus, opened tables and the scroll position, and writes nothing', async () => {
    await withPage({ viewport: { width: 800, height: 500 } }, async page => {
      await page.clock.install();
      await page.goto('/');
      const before = await waiting(page);
      await page.locator('summary').first().click();
      await page.locator('.periods a').last().focus();
      await page.evaluate('window.scrollTo(0, 300)');
      using writes = await watchWrites(world.redis.url);
      await issueFor(world, 'alice', { kind: 'payment', payment: { ...bookTerms, reference: 'order-live' } });
      await writes.take();
      await expect
        .poll(async () => {
          await page.clock.runFor(LATER_MS);
          return waiting(page);
        })
        .not.toBe(before);
      expect((await writes.take()).filter(({ key }) => /:oss?:/.test(key))).toEqual([]);
      expect(await page.evaluate('[document.activeElement.textContent, window.scrollY]')).toEqual(['30 days', 300]);
      expect(await page.locator('details').first().getAttribute('open')).not.toBeNull();
    });
  });

  inFull.it('pauses on request', async () => {
    await withPage({}, async page => {
      await page.clock.install();
      await page.goto('/');
      let reads = 0;
      page.on('request', () => {
        reads += 1;
      });
      await page.getByRole('button', { name: 'Pause updates' }).click();
      await page.clock.runFor(LATER_MS);
      expect(reads).toBe(0);
    });
  });

  it('shows nothing new after the session has ended, and says so', async () => {
    const session = await signedIn(world, 'mallory', '/login?to=%2F');
    await withPage(
      {},
      async page => {
        await page.clock.install();
        await page.goto('/');
        const shown = await page.locator('[data-live]').textContent();
        await session.post('/logout', { form: { csrf_token: csrfTokenIn(await session.get('/')) } });
        await page.clock.runFor(LATER_MS);
        await page.locator('[data-stale]').waitFor();
        expect(await page.locator('.periods').count()).toBe(1);
        expect(shown).toContain('Waiting now');
        let reads = 0;
        page.on('request', () => {
          reads += 1;
        });
        await page.clock.runFor(LATER_MS);
        expect(reads).toBe(0);
      },
      session,
    );
  });
});

describe('S139: pages of the console', () => {
  it('never contain markup of others, an inline style or a script but that of the console, on any page', async () => {
    for (const path of paths()) {
      const { status, body, headers } = await operator.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(body).not.toContain(HOSTILE);
      expect(body).not.toContain('<img');
      expect(body.match(/<script.*?>/g)).toEqual([expect.stringMatching(SCRIPT)]);
      expect(body).not.toMatch(/<style|\sstyle=|\son\w+=["']/);
      expect(body).not.toContain(SECRET);
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self';/);
      expect(headers['content-security-policy']).toContain("script-src 'self'; connect-src 'self';");
      expect(headers['content-security-policy']).toContain("trusted-types 'none'");
      expect(headers['cache-control']).toBe('no-store');
    }
  });

  it('S34: have no finding of axe, light and dark, and fit a phone', { timeout: 240_000 }, async () => {
    await withPage({ ...NARROW, colorScheme: 'light', bypassCSP: true }, async page => {
      const seen = new Set<string>();
      for (const [nth, path] of paths().entries()) {
        if (isShortRun && nth % 8 !== 0) continue;
        await page.goto(path);
        // axe-core takes most of the time. The short run leaves it out for a page like those before.
        const isAudited = (await hasNewElement(page, seen)) || !isShortRun;
        const inTables = /^sticks out: <(?:table|caption|t|time|small|code|bdi|a|span|svg|rect|b|details|summary|dl|d)/;
        const found = [
          ...(isAudited ? await axeFindings(page) : []),
          ...(await layoutFaults(page)).filter(fault => !inTables.test(fault)),
        ];
        if (!isShortRun) {
          await page.emulateMedia({ colorScheme: 'dark' });
          found.push(...(await axeFindings(page, 'colours')));
          await page.emulateMedia({ colorScheme: 'light' });
        }
        expect([path, ...found]).toEqual([path]);
      }
    });
  });
});

it('answers a URL that cannot be routed with the usual headers, and without it', async () => {
  const answer = await sendBytes(
    consoleAddress(world),
    'GET /%zzSECRET HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  );
  expect(answer.status).toBe(400);
  expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.body).not.toContain('SECRET');
});
