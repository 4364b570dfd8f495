import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyRequest, deletion, issueFor, paymentOf } from '../support/asks.ts';
import { addAuthenticator } from '../support/authenticator.ts';
import { goOnToFirstPasskey, newPerson, openSignedIn, type Person } from '../support/browser.ts';
import { type AskedKind, askedKinds } from '../support/every-kind.ts';
import { axeFindings, layoutFaults, NARROW } from '../support/page-checks.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

let browser: Browser;
let world: PayingWorld;
beforeAll(async () => {
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({ payment: { passkeyAbove: { KWD: 100 } }, mcpServer: { limits: { elicitationsPerSubject: 1000 } } }),
  ]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const WIDE = 'W'.repeat(60);
const large = { currency: 'KWD', minorUnits: 199_990 };

/** Requests with all members that take up space on the page. */
const asks = {
  payment: () =>
    paymentOf({
      processor: 'none',
      payee: { name: WIDE },
      amount: { currency: 'JPY', minorUnits: 50_000 },
      items: [
        { label: WIDE, quantity: 1000, unitMinorUnits: 49 },
        { label: 'x', unitMinorUnits: 1000 },
      ],
    }),
  confirmation: () =>
    ({
      kind: 'confirmation',
      confirmation: {
        title: `${WIDE}${WIDE}`,
        action: WIDE.slice(0, 30),
        danger: 'destructive',
        facts: [
          { type: 'text', label: WIDE, value: `${WIDE}${WIDE}${WIDE}` },
          { type: 'number', label: 'Number', value: -1234567890.125 },
          { type: 'amount', label: 'Amount', value: large },
          { type: 'time', label: 'Time', value: '2026-02-28T23:59:59+05:45' },
          { type: 'host', label: 'Host', value: `${'a'.repeat(60)}.${'b'.repeat(60)}.example` },
        ],
      },
    }) as const,
  credential: () =>
    ({
      kind: 'credential',
      credential: {
        name: `key-${crypto.randomUUID().slice(0, 8)}`,
        title: WIDE,
        retention: 'lasting',
        fields: [
          { name: 'username', label: WIDE, secret: false, help: `${WIDE} ${WIDE}`, example: WIDE },
          { name: 'password', label: 'Password', pattern: '[a-z]+' },
          { name: 'pem', label: 'Private key', multiline: true },
        ],
      },
    }) as const,
  form: () =>
    ({
      kind: 'form',
      form: {
        title: WIDE,
        requestedSchema: {
          type: 'object',
          properties: {
            text: { type: 'string', title: WIDE, description: `${WIDE} ${WIDE}`, minLength: 2 },
            long: { type: 'string', maxLength: 2000, default: WIDE },
            email: { type: 'string', format: 'email' },
            day: { type: 'string', format: 'date' },
            moment: { type: 'string', format: 'date-time' },
            number: { type: 'number', minimum: 0.5 },
            yes: { type: 'boolean', title: WIDE },
            few: { type: 'string', enum: ['a', WIDE] },
            many: { type: 'string', enum: ['a', 'b', 'c', 'd', 'e', `${WIDE}${WIDE}`] },
            several: {
              type: 'array',
              items: {
                anyOf: [
                  { const: 'a', title: WIDE },
                  { const: 'b', title: 'B' },
                ],
              },
            },
          },
          required: ['text'],
        },
      },
    }) as const,
} satisfies Record<AskedKind, () => Parameters<typeof issueFor>[2]>;

const extras = { message: WIDE.repeat(4), requestedBy: { mcpClient: WIDE, tool: WIDE } };

async function fillIn(page: Page, kind: AskedKind, isRight: boolean): Promise<void> {
  const field = (name: string) => page.locator(`[name="field.${name}"]`);
  if (kind === 'credential') {
    await field('username').fill('alice');
    await field('password').fill(isRight ? 'secret' : 'SECRET');
    await field('pem').fill('-----BEGIN-----\nx\n-----END-----');
  } else if (kind === 'form') {
    await field('text').fill(isRight ? 'text' : 'x');
  }
}

const press = (page: Page, action: string) => page.locator(`form[action$="/${action}"] button`).click();

type Inspect = (page: Page, name: string) => Promise<void>;

/** Goes through the whole flow and checks every page. */
async function walk(person: Person, kind: AskedKind, inspect: Inspect): Promise<void> {
  const { name: user, page } = person;
  const issued = await issueFor(world, user, { ...asks[kind](), ...extras });
  const { url, elicitationId } = issued;
  await openSignedIn(person, world, issued);
  await page.locator('form[action$="/accept"]').waitFor();
  await inspect(page, `${kind}: question`);
  if (kind === 'credential' || kind === 'form') {
    await fillIn(page, kind, false);
    await press(page, 'accept');
    await page.locator('.field-fault').first().waitFor();
    await inspect(page, `${kind}: form with faults`);
  }
  await fillIn(page, kind, true);
  await press(page, 'accept');
  await page.waitForURL(url);
  await inspect(page, `${kind}: done`);
  expect((await world.api.read(elicitationId)).body.status).toBe('completed');
}

// Light and dark differ in colours only, which packages/pages checks on every page.
describe('S34: without JavaScript, 320 pixels wide', () => {
  const found: string[] = [];
  const inspect: Inspect = async (page, name) => {
    found.push(...(await layoutFaults(page)).map(fault => `${name}: ${fault}`));
  };

  it.each(askedKinds)('%s: approved', async kind => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false, ...NARROW });
    found.length = 0;
    await walk(person, kind, inspect);
    expect(found).toEqual([]);
  });

  it.each(askedKinds)('%s: declined', async kind => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false, ...NARROW });
    const { page } = person;
    const issued = await issueFor(world, user, asks[kind]());
    await openSignedIn(person, world, issued);
    const { url, elicitationId } = issued;
    await press(page, 'decline');
    await page.waitForURL(url);
    expect(await layoutFaults(page)).toEqual([]);
    expect((await world.api.read(elicitationId)).body.status).toBe('declined');
  });

  it('S187: the button of a confirmation names the action after our verb, and the receipt repeats it', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false, ...NARROW });
    const { page } = person;
    const issued = await issueFor(world, user, { kind: 'confirmation', confirmation: deletion });
    await openSignedIn(person, world, issued);
    const { url } = issued;
    await page.getByRole('button', { name: 'Confirm: Delete repository', exact: true }).click();
    await page.waitForURL(url);
    await page.goto(`${url}/receipt`);
    expect(await page.getByText('Confirm: Delete repository', { exact: true }).isVisible()).toBe(true);
    expect(await layoutFaults(page)).toEqual([]);
  });

  it('a payment at a processor', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false, ...NARROW });
    const { page } = person;
    const issued = await issueFor(world, user, paymentOf());
    await openSignedIn(person, world, issued);
    const { url, elicitationId } = issued;
    await press(page, 'accept');
    await page.locator('a.button.accent').waitFor();
    expect(await layoutFaults(page)).toEqual([]);
    const [session] = world.stripe.checkoutSessionsOf(elicitationId);
    expect(await page.locator('a.button.accent').getAttribute('href')).toBe(session?.url);
    world.stripe.pay(session?.id ?? '');
    await page.goto(`${url}/charge`);
    await page.waitForURL(url);
    expect(await layoutFaults(page)).toEqual([]);
    expect((await world.api.read(elicitationId)).body.status).toBe('completed');
  });

  it('the passkey page says that it needs JavaScript, shows no dead button, and offers to go back or decline', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false, ...NARROW });
    const { page } = person;
    const issued = await issueFor(
      world,
      user,
      paymentOf({ processor: 'none', amount: large, items: [{ label: 'x', unitMinorUnits: 199_990 }] }),
    );
    await openSignedIn(person, world, issued);
    const { url, elicitationId } = issued;
    await goOnToFirstPasskey(page, user);
    await page.waitForURL(/\/passkey$/);
    expect(await layoutFaults(page)).toEqual([]);
    expect(await page.locator('noscript p').isVisible()).toBe(true);
    expect(await page.locator('form[data-passkey] button').isVisible()).toBe(false);
    await page.getByRole('link', { name: 'Go back' }).click();
    await page.waitForURL(url);
    await press(page, 'accept');
    await press(page, 'decline');
    await page.waitForURL(url);
    expect((await world.api.read(elicitationId)).body.status).toBe('declined');
  });
});

describe('S34: axe finds nothing on any page of the real flows', () => {
  it('of a user who goes through all kinds', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { bypassCSP: true, ...NARROW });
    const { page } = person;
    const authenticator = await addAuthenticator(page);
    const findings: string[] = [];
    const inspect: Inspect = async (inspected, name) => {
      const found = [...(await axeFindings(inspected)), ...(await layoutFaults(inspected))];
      findings.push(...found.map(finding => `${name}: ${finding}`));
    };
    for (const kind of askedKinds) await walk(person, kind, inspect);

    const ofStripe = () => paymentOf({ amount: large, items: [{ label: 'x', unitMinorUnits: 199_990 }] });
    const payment = await issueFor(world, user, ofStripe());
    await page.goto(payment.url);
    await goOnToFirstPasskey(page, user);
    await page.locator('form[data-passkey="register"] button').waitFor();
    await inspect(page, 'passkey: add');
    await page.locator('form[data-passkey="register"] button').click();
    await page.locator('form[data-passkey="assert"] button').waitFor();
    await inspect(page, 'passkey: use');
    await authenticator.recognises(false);
    await page.locator('form[data-passkey="assert"] button').click();
    await expect.poll(() => page.locator('[role="status"]').textContent()).not.toBe('');
    await inspect(page, 'passkey: not used');
    await authenticator.recognises(true);
    await page.locator('form[data-passkey="assert"] button').click();
    await page.locator('a.button.accent').waitFor();
    await inspect(page, 'charge');
    await page.goto(`${payment.url}/charge`);
    await inspect(page, 'charge: not paid yet');
    world.stripe.pay(world.stripe.checkoutSessionsOf(payment.elicitationId)[0]?.id ?? '');
    await page.goto(`${payment.url}/charge`);
    await inspect(page, 'paid');

    await page.goto(`${world.publicUrl}/me`);
    await inspect(page, '/me');
    for (const path of ['/me/history', '/me/browsers', '/me/data', '/me/data/disconnect', '/me/data/erase']) {
      await page.goto(`${world.publicUrl}${path}`);
      await inspect(page, path);
    }
    await page.goto(`${world.publicUrl}/me/passkeys/add`);
    await inspect(page, 'passkey: permit another');
    await page.locator('form[data-passkey="assert"] button').click();
    await page.locator('form[data-passkey="register"] button').waitFor();
    await inspect(page, 'passkey: add another');
    for (const link of ['/me/credentials/', '/me/passkeys/']) {
      await page.goto(`${world.publicUrl}/me`);
      await page.locator(`.row:has(a[href^="${link}"]) > summary`).first().click();
      await page.locator(`a[href^="${link}"]:is([href$="/delete"], [href$="/remove"])`).first().click();
      await inspect(page, link);
      await page.locator(`form[action^="${link}"] button`).click();
      // The confirmation page links back to /me as well.
      await page.locator(`form[action^="${link}"]`).waitFor({ state: 'detached' });
      await page.locator(`a[href="/me"]`).first().waitFor();
      await inspect(page, `${link} gone`);
    }
    const stale = await issueFor(world, user, { kind: 'confirmation', confirmation: deletion });
    await world.api.cancel(stale.elicitationId);
    await page.goto(stale.url);
    await inspect(page, 'cancelled');
    const credential = { ...apiKeyRequest, name: 'another', title: 'Another' };
    const last = await issueFor(world, user, { kind: 'credential', credential });
    await page.goto(last.url);
    await press(page, 'decline');
    await page.waitForURL(last.url);
    await inspect(page, 'declined');
    expect(findings).toEqual([]);
  });
});
