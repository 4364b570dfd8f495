import { randomBytes } from 'node:crypto';
import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiToCheck, startApiToCheck } from '../support/api-to-check.ts';
import { issueFor } from '../support/asks.ts';
import { newPerson, openSignedIn, type Person } from '../support/browser.ts';
import { watchServedText } from '../support/served-text.ts';
import { startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;
let api: ApiToCheck;
let served: ReturnType<typeof watchServedText>;
beforeAll(async () => {
  api = await startApiToCheck();
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({ mcpServer: { credentialChecks: { checked: { url: api.url, bearer: 'password' } } } }),
  ]);
  served = watchServedText(world.gateways[0]?.address ?? '');
});
afterAll(async () => {
  served?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

/** Every test has its own private key, because the API returns some of them to the MCP server. */
function newPem(): { readonly pem: string; readonly line: string } {
  const line = `${randomBytes(24).toString('base64')}+/==`;
  return { pem: `-----BEGIN PRIVATE KEY-----\n${line}\n-----END PRIVATE KEY-----`, line };
}

/** Basic auth and a private key, under a new name each time. */
function login(name = `login-${crypto.randomUUID().slice(0, 8)}`): Parameters<typeof issueFor>[2] {
  return {
    kind: 'credential',
    credential: {
      name,
      title: 'Account at Acme',
      fields: [
        { name: 'username', label: 'User name', secret: false },
        { name: 'password', label: 'Password', pattern: '[ -~]{8,}' },
        { name: 'private_key', label: 'Private key', multiline: true },
      ],
    },
  };
}

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Records everything that leaves this browser from now on. */
function sentBy(page: Page): readonly Sent[] {
  const sent: Sent[] = [];
  page.on('request', request =>
    sent.push({
      method: request.method(),
      url: request.url(),
      headers: request.headers(),
      body: request.postData() ?? '',
    }),
  );
  return sent;
}

const field = (page: Page, name: string) => page.locator(`[name="field.${name}"]`);
const send = (page: Page) => page.locator('form[action$="/accept"] button').click();
const typedOn = (page: Page): Promise<string[]> =>
  page
    .locator('input, textarea')
    .evaluateAll(elements => elements.map(element => ('value' in element ? String(element.value) : '')));

async function opened(person: Person, ask: Parameters<typeof issueFor>[2]) {
  const issued = await issueFor(world, person.name, ask);
  await openSignedIn(person, world, issued);
  await person.page.locator('form[action$="/accept"]').waitFor();
  return issued;
}

/**
 * Asserts that the secret is neither in the page, its source, its fields or its address, nor in any response of the
 * gateway.
 */
async function expectNotShown(page: Page, secrets: readonly string[]): Promise<void> {
  const seen = [page.url(), await page.content(), ...(await typedOn(page)), served.text()].join('\n');
  for (const secret of secrets)
    for (const form of [secret, encodeURIComponent(secret)]) expect(seen).not.toContain(form);
}

describe('S35: a secret that a user types', () => {
  inFull.it('is masked in single-line and multi-line fields', async () => {
    await using person = await newPerson(browser, world.subject());
    const { page } = person;
    await opened(person, login());
    expect(await field(page, 'password').getAttribute('type')).toBe('password');
    const mask = await page.evaluate(
      "getComputedStyle(document.querySelector('textarea')).getPropertyValue('-webkit-text-security')",
    );
    expect(mask).toBe('disc');
    expect(await field(page, 'username').getAttribute('type')).toBe('text');
  });

  inFull.it('can be pasted and filled in by a password manager, but not by the browser’s autofill', async () => {
    await using person = await newPerson(browser, world.subject());
    const { page } = person;
    await opened(person, login());
    expect(await field(page, 'username').getAttribute('autocomplete')).toBe('off');
    expect(await field(page, 'password').getAttribute('autocomplete')).toBe('one-time-code');
    expect(await field(page, 'private_key').getAttribute('autocomplete')).toBe('off');
    for (const name of ['username', 'password', 'private_key']) {
      const input = field(page, name);
      for (const banned of ['maxlength', 'readonly', 'onpaste', 'oncopy', 'value'])
        expect([name, banned, await input.getAttribute(banned)]).toEqual([name, banned, null]);
      expect(await input.inputValue()).toBe('');
      expect(await page.locator(`label[for="field-${name}"]`).count()).toBe(1);
    }
    // Cuts the text from one field and pastes it into another by keyboard.
    await field(page, 'username').fill('pasted-with-keys');
    await field(page, 'username').press('Control+a');
    await field(page, 'username').press('Control+x');
    await field(page, 'password').press('Control+v');
    expect(await field(page, 'password').inputValue()).toBe('pasted-with-keys');
  });

  it('leaves the browser in the body of one POST and is nowhere afterwards', async () => {
    await using person = await newPerson(browser, world.subject());
    const { page } = person;
    const { pem, line } = newPem();
    const { elicitationId, url } = await opened(person, login());
    const sent = sentBy(page);
    const secrets = ['correct horse battery', line];
    await field(page, 'username').fill('alice@acme.example');
    await field(page, 'password').fill('correct horse battery');
    await field(page, 'private_key').fill(pem);
    await send(page);
    await page.waitForURL(url);
    await expectNotShown(page, secrets);

    const carrying = sent.filter(request =>
      secrets.some(secret => JSON.stringify(request).includes(encodeURIComponent(secret).replaceAll('%20', '+'))),
    );
    expect(carrying.map(({ method, url: target }) => [method, new URL(target).pathname])).toEqual([
      ['POST', `/e/${elicitationId}/accept`],
    ]);
    expect(carrying[0]?.url).not.toContain('?');
    for (const { url: target, headers } of sent)
      for (const secret of secrets) expect(`${target} ${headers['referer'] ?? ''}`).not.toContain(secret);

    // Go back to the submitted form and forward again: the field is empty or absent.
    await page.goBack();
    await expectNotShown(page, secrets);
    await page.goForward();
    await page.reload();
    await expectNotShown(page, secrets);
    expect(served.text()).toContain(elicitationId);
    expect((await world.api.redeem(elicitationId)).body).toMatchObject({
      values: { username: 'alice@acme.example', password: 'correct horse battery', private_key: pem },
    });
  });

  inFull.it('is cleared after an error, a reload and a back navigation, while other values stay', async () => {
    await using person = await newPerson(browser, world.subject());
    const { page } = person;
    const { pem, line } = newPem();
    const { url } = await opened(person, login());
    const secrets = ['\u00e9 not ASCII, no match', line];
    await field(page, 'username').fill('alice@acme.example');
    await field(page, 'password').fill(secrets[0] ?? '');
    await field(page, 'private_key').fill(pem);
    await send(page);
    await page.locator('.field-fault').first().waitFor();
    expect(await field(page, 'password').getAttribute('aria-invalid')).toBe('true');
    expect(await field(page, 'username').inputValue()).toBe('alice@acme.example');
    await expectNotShown(page, secrets);
    await page.goto(url);
    await expectNotShown(page, secrets);
    // The response to a form is not stored. To show it again, the browser would have to resubmit the form, which it
    // does not do automatically.
    await expect(page.goBack()).rejects.toThrow('ERR_CACHE_MISS');
    for (const secret of secrets) expect(served.text()).not.toContain(secret);
  });

  inFull.it('is cleared on a back navigation if it was not submitted', async () => {
    await using person = await newPerson(browser, world.subject());
    const { page } = person;
    const { pem, line } = newPem();
    await opened(person, login());
    await field(page, 'password').fill('left without sending');
    await field(page, 'private_key').fill(pem);
    await page.goto(`${world.publicUrl}/me`);
    await page.goBack();
    await page.locator('form[action$="/accept"]').waitFor();
    await expectNotShown(page, ['left without sending', line]);
    await page.reload();
    await expectNotShown(page, ['left without sending', line]);
  });

  inFull.it.each([
    ['that the check rejects', 401],
    ['that could not be checked', 500],
  ] as const)('%s is not shown again', async (_, status) => {
    await using person = await newPerson(browser, world.subject());
    const { page } = person;
    const { pem, line } = newPem();
    const { elicitationId } = await opened(person, login('checked'));
    api.answerNext(status);
    await field(page, 'username').fill('alice@acme.example');
    await field(page, 'password').fill('refused by the API');
    await field(page, 'private_key').fill(pem);
    await send(page);
    await page.locator('.notice').waitFor();
    expect(await page.locator('.notice').textContent()).toContain('localhost');
    expect(await field(page, 'username').inputValue()).toBe('alice@acme.example');
    await expectNotShown(page, ['refused by the API', line, 'text of the API']);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });

  inFull.it('is handled alike in a secret field of a form', async () => {
    await using person = await newPerson(browser, world.subject());
    const { page } = person;
    const { elicitationId, url } = await opened(person, {
      kind: 'form',
      form: {
        requestedSchema: {
          type: 'object',
          properties: { pin: { type: 'string', title: 'PIN', minLength: 4 }, name: { type: 'string', minLength: 3 } },
          required: ['pin', 'name'],
        },
        secretFields: ['pin'],
      },
    });
    expect(await field(page, 'pin').getAttribute('type')).toBe('password');
    await field(page, 'pin').fill('pin-4711-0815');
    await field(page, 'name').fill('Al');
    await send(page);
    await page.locator('.field-fault').first().waitFor();
    expect(await field(page, 'name').inputValue()).toBe('Al');
    await expectNotShown(page, ['pin-4711-0815']);
    await field(page, 'pin').fill('pin-4711-0815');
    await field(page, 'name').fill('Alice');
    await send(page);
    await page.waitForURL(url);
    await expectNotShown(page, ['pin-4711-0815']);
    expect((await world.api.redeem(elicitationId)).body).toMatchObject({
      content: { pin: 'pin-4711-0815', name: 'Alice' },
    });
  });
});

describe('S35: a secret in a URL', () => {
  it('prefills no field and is not repeated', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, login());
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const page = await raw.get(`/e/${elicitationId}?field.password=from-an-address&password=from-an-address`);
    expect(page.body).not.toContain('from-an-address');
    const away = await raw.get(`/e/${elicitationId}/accept?field.password=from-an-address`);
    expect([away.status, away.location]).toEqual([303, `/e/${elicitationId}`]);
    expect(world.log()).not.toContain('from-an-address');
  });
});
