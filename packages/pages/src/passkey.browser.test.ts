import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PasskeyView, passkeyPage } from './pages/passkey-page.ts';
import { samplePasskeyView } from './samples/sample-approval-views.ts';
import { type PageServer, servePages } from './testing/page-server.ts';
import type { PageContext } from './views.ts';

const base64url = (text: string) => Buffer.from(text).toString('base64url');
const challenge = base64url('a challenge of the gateway');
const userHandle = base64url('ada');

const creationOptions = {
  challenge,
  rp: { id: 'localhost', name: 'Northwind' },
  user: { id: userHandle, name: 'ada', displayName: 'Ada Okafor' },
  pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
  authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
  attestation: 'none',
  excludeCredentials: [] as { type: 'public-key'; id: string }[],
};
const requestOptions = { challenge, rpId: 'localhost', userVerification: 'required', allowCredentials: [] };

const pageOf = (view: Partial<PasskeyView>) => (context: PageContext) =>
  passkeyPage(context, { ...samplePasskeyView, ...view });

let browser: Browser;
let pageServer: PageServer;
let excluded: string | undefined;

beforeAll(async () => {
  browser = await sharedBrowser();
  pageServer = await servePages({
    extraPages: {
      'passkey-real-assert': pageOf({ optionsJson: JSON.stringify(requestOptions) }),
      'passkey-real-register': context => {
        const excludeCredentials = excluded === undefined ? [] : [{ type: 'public-key' as const, id: excluded }];
        const optionsJson = JSON.stringify({ ...creationOptions, excludeCredentials });
        return passkeyPage(context, { ...samplePasskeyView, mode: 'register', optionsJson });
      },
      'passkey-broken': pageOf({ optionsJson: '{' }),
    },
  });
});

afterAll(async () => {
  await pageServer[Symbol.asyncDispose]();
});

interface Visit {
  readonly page: Page;
  readonly authenticator: { readonly cdp: CDPSession; readonly authenticatorId: string };
  readonly violations: readonly string[];
}

/**
 * A tab with an authenticator that does or does not verify its user. WebAuthn requires a host name, so the tab uses
 * localhost.
 */
async function visit(
  use: (visit: Visit) => Promise<void>,
  options: { verifies?: boolean; context?: BrowserContextOptions } = {},
): Promise<void> {
  const context = await browser.newContext(options.context ?? {});
  try {
    const page = await context.newPage();
    const violations: string[] = [];
    page.on('console', message => {
      if (/content security policy/i.test(message.text())) violations.push(message.text());
    });
    const cdp = await context.newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: options.verifies ?? true,
        automaticPresenceSimulation: true,
      },
    });
    await use({ page, authenticator: { cdp, authenticatorId }, violations });
  } finally {
    await context.close();
  }
}

const open = (page: Page, name: string) => page.goto(pageServer.page(name).replace('127.0.0.1', 'localhost'));
const start = (page: Page) => page.click('form[data-passkey] button');
const announced = (page: Page) => page.locator('[role="status"]').textContent();
const textOf = (page: Page, name: string) =>
  page.evaluate<string>(`document.querySelector('form[data-passkey]').dataset.${name}`);

/** Presses the button and reads the form data of the POST. */
async function sent(page: Page): Promise<Record<string, string>> {
  const answered = page.waitForResponse(response => response.request().method() === 'POST');
  await start(page);
  const request = (await answered).request();
  expect(new URL(request.url()).pathname).toBe('/e/0a.sample/passkey');
  return Object.fromEntries(new URLSearchParams(request.postData() ?? ''));
}

const clientDataOf = (response: string | undefined): unknown => {
  const { response: inner } = JSON.parse(response ?? '') as { response: { clientDataJSON: string } };
  return JSON.parse(Buffer.from(inner.clientDataJSON, 'base64url').toString());
};

describe('with an authenticator', () => {
  test('adds a passkey and then uses it, with the challenge of the page', async () => {
    await visit(async ({ page, violations }) => {
      await open(page, 'passkey-real-register');
      const registration = await sent(page);
      expect(registration).toMatchObject({
        csrf_token: 'csrf-value',
        shown: 'shown-value',
        ceremony: 'ceremony-value',
      });
      const { origin } = new URL(page.url());
      expect(clientDataOf(registration['response'])).toMatchObject({ type: 'webauthn.create', challenge, origin });

      await open(page, 'passkey-real-assert');
      const assertion = await sent(page);
      expect(assertion).toMatchObject({ csrf_token: 'csrf-value', shown: 'shown-value', ceremony: 'ceremony-value' });
      expect(clientDataOf(assertion['response'])).toMatchObject({ type: 'webauthn.get', challenge, origin });
      const [added, used] = [registration, assertion].map(
        ({ response }) => JSON.parse(response ?? '') as { id: string },
      );
      expect(used?.id).toBe(added?.id);
      expect(violations).toEqual([]);
    });
  });

  test('the device gets no request before the user presses the button', async () => {
    await visit(async ({ page, authenticator: { cdp, authenticatorId } }) => {
      await open(page, 'passkey-real-register');
      await page.waitForLoadState('load');
      expect(await announced(page)).toBe('');
      expect((await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials).toEqual([]);
    });
  });

  inFull.it('the page runs one ceremony at a time', async () => {
    await visit(async ({ page, authenticator: { cdp, authenticatorId } }) => {
      await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false });
      await open(page, 'passkey-real-register');
      await page.evaluate(`(() => {
        window.asked = 0;
        const create = navigator.credentials.create.bind(navigator.credentials);
        navigator.credentials.create = options => { window.asked += 1; return create(options); };
      })()`);
      await start(page);
      await start(page);
      expect(await page.evaluate<number>('window.asked')).toBe(1);
      expect(await announced(page)).toBe(await textOf(page, 'waiting'));
    });
  });
});

describe('the page announces failures, and the user can try again', () => {
  inFull.it('a user who is not verified', async () => {
    await visit(
      async ({ page }) => {
        await open(page, 'passkey-real-register');
        await start(page);
        await expect.poll(() => announced(page)).toBe(await textOf(page, 'cancelled'));
      },
      { verifies: false },
    );
  });

  test('no passkey here, then one', async () => {
    await visit(async ({ page, authenticator: { cdp, authenticatorId } }) => {
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
      await open(page, 'passkey-real-register');
      await start(page);
      await expect.poll(() => announced(page)).toBe(await textOf(page, 'cancelled'));
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
      expect(clientDataOf((await sent(page))['response'])).toMatchObject({ type: 'webauthn.create' });
    });
  });

  inFull.it('a device that already has a passkey', async () => {
    await visit(async ({ page }) => {
      await open(page, 'passkey-real-register');
      excluded = (JSON.parse((await sent(page))['response'] ?? '') as { id: string }).id;
      await open(page, 'passkey-real-register');
      await start(page);
      await expect.poll(() => announced(page)).toBe(await textOf(page, 'alreadyAdded'));
    });
    excluded = undefined;
  });

  test('unreadable options', async () => {
    await visit(async ({ page }) => {
      await open(page, 'passkey-broken');
      await start(page);
      await expect.poll(() => announced(page)).toBe(await textOf(page, 'failed'));
    });
  });

  test.each([
    'delete window.PublicKeyCredential',
    'delete PublicKeyCredential.parseRequestOptionsFromJSON',
    'delete PublicKeyCredential.prototype.toJSON',
  ])('a browser that cannot: %s', async lack => {
    await visit(async ({ page }) => {
      await page.addInitScript(lack);
      await open(page, 'passkey-real-assert');
      expect(await announced(page)).toBe(await textOf(page, 'unsupported'));
      expect(await page.locator('form[data-passkey] button').isVisible()).toBe(false);
      expect(await page.locator('form[action$="/decline"] button').isVisible()).toBe(true);
    });
  });
});

test('without JavaScript the page says so and still offers to decline or go back', async () => {
  await visit(
    async ({ page }) => {
      await open(page, 'passkey-real-assert');
      expect(await page.locator('noscript p').isVisible()).toBe(true);
      expect(await page.locator('noscript').textContent()).toContain('JavaScript');
      expect(await page.locator('form[data-passkey] button').isVisible()).toBe(false);
      expect(await page.locator('form[action$="/decline"] button').isVisible()).toBe(true);
      expect(await page.locator('a[href="/e/0a.sample"]').isVisible()).toBe(true);
    },
    { context: { javaScriptEnabled: false } },
  );
});
