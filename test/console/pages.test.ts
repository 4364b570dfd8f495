import { sharedBrowser } from '@postern/testkit/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueFor, paymentOf } from '../support/asks.ts';
import { connected } from '../support/connections.ts';
import { axeFindings, layoutFaults, NARROW } from '../support/page-checks.ts';
import { paidPerson } from '../support/payment-person.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import type { PayingWorld } from '../support/world.ts';
import { consoleAddress, csrfTokenIn, signedIn, startConsoleWorld } from './console-world.ts';

const HOSTILE = '"><svg/onload=zz>';
const SECRET = 'ak_consolecanary1';

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

const paths = () => [
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

  it('draws what happened, with a table behind each chart', async () => {
    await expect
      .poll(async () => (await operator.get('/')).body, { timeout: 60_000, interval: 500 })
      .toMatch(/mcpServer=tracker&#38;kind=payment"/);
    const { body } = await operator.get('/');
    expect(body.match(/<figure/g)).toHaveLength(3);
    expect(body.match(/<figure[\s\S]*?<table>[\s\S]*?<\/figure>/g)?.length).toBeGreaterThanOrEqual(2);
  });
});

describe('S139: pages of the console', () => {
  it('never contain markup of others, an inline style or a script, on any page', async () => {
    for (const path of paths()) {
      const { status, body, headers } = await operator.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(body).not.toContain(HOSTILE);
      expect(body).not.toContain('<img');
      expect(body).not.toMatch(/<script|<style|\sstyle=|\son\w+=["']/);
      expect(body).not.toContain(SECRET);
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self';/);
      expect(headers['content-security-policy']).not.toContain('script-src');
      expect(headers['cache-control']).toBe('no-store');
    }
  });

  it.each(['light', 'dark'] as const)(
    'S34: have no finding of axe and fit a phone, %s',
    { timeout: 240_000 },
    async colorScheme => {
      const context = await (await sharedBrowser()).newContext({ ...NARROW, colorScheme, bypassCSP: true });
      try {
        const url = consoleAddress(world);
        await context.addCookies([...operator.cookies].map(([name, value]) => ({ name, value, url })));
        const page: Page = await context.newPage();
        for (const path of paths()) {
          await page.goto(`${url}${path}`);
          const inTables = /^sticks out: <(?:table|caption|t|time|code|bdi|a|span|svg|rect|b|details|summary|dl|d)/;
          const found = [
            ...(await axeFindings(page)),
            ...(await layoutFaults(page)).filter(fault => !inTables.test(fault)),
          ];
          expect([path, ...found]).toEqual([path]);
        }
      } finally {
        await context.close();
      }
    },
  );
});
