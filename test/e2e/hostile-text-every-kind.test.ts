import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueFor } from '../support/asks.ts';
import { newPerson, type Person, signIn } from '../support/browser.ts';
import { type Stage, startStage } from '../support/stage.ts';

/** Either the API refuses it, or the page shows it as the plain text it is. */
const texts = [
  '<script>document.title = "owned"</script>',
  '<img src=x onerror="document.title=1">',
  '</dl></form><form action="//evil.example"><button>Yes',
  '</textarea><input name="csrf_token">',
  '"><svg/onload=alert(1)>',
  "' autofocus onfocus='alert(1)",
  '&lt;b&gt; &#60; &amp;amp;',
  '{mcpServer} {amount} ${7*7} {{7*7}}',
  '[Approve](https://evil.example) **bold**',
  'Total €0.01 (already paid)',
  'مرحبا 123 github.com',
  '👩‍👩‍👧‍👦 family',
  'Z͑ͫ̓ͪ̂ͫA̴L̠G̴O',
  'constructor __proto__',
];
const refused = [
  'invoice\u202Egnp.exe',
  '\u2066a\u2069',
  'nul\u0000',
  'line\u2028separator',
  'tag\u{E0041}',
  'a\uE000',
  'a\nb',
];

type Ask = Parameters<typeof issueFor>[2];
const amount = { currency: 'EUR', minorUnits: 100 };
const payment = { payee: { name: 'Shop' }, amount, reference: 'r', processor: 'none' };
const confirmation = { title: 'Step' };
const credential = { name: 'key', title: 'Key', fields: [{ name: 'key', label: 'Key' }] };

/** Every text that an MCP server may choose, in the place where it stands. */
const places = {
  'the payee': text => ({ kind: 'payment', payment: { ...payment, payee: { name: text } } }),
  'the reference': text => ({ kind: 'payment', payment: { ...payment, reference: text } }),
  'an item': text => ({ kind: 'payment', payment: { ...payment, items: [{ label: text, unitMinorUnits: 100 }] } }),
  'what is confirmed': text => ({ kind: 'confirmation', confirmation: { title: text } }),
  'the label of a fact': text => ({
    kind: 'confirmation',
    confirmation: { ...confirmation, facts: [{ type: 'text', label: text, value: 'v' }] },
  }),
  'a fact': text => ({
    kind: 'confirmation',
    confirmation: { ...confirmation, facts: [{ type: 'text', label: 'l', value: text }] },
  }),
  'the title of a credential': text => ({ kind: 'credential', credential: { ...credential, title: text } }),
  'a label': text => ({ kind: 'credential', credential: { ...credential, fields: [{ name: 'key', label: text }] } }),
  help: text => ({
    kind: 'credential',
    credential: { ...credential, fields: [{ name: 'key', label: 'l', help: text }] },
  }),
  'an example': text => ({
    kind: 'credential',
    credential: { ...credential, fields: [{ name: 'key', label: 'l', example: text }] },
  }),
  'the title of a form': text => ({
    kind: 'form',
    form: { title: text, requestedSchema: { type: 'object', properties: { a: { type: 'string' } } } },
  }),
  'a question': text => ({
    kind: 'form',
    form: { requestedSchema: { type: 'object', properties: { a: { type: 'string', title: text } } } },
  }),
  'a description': text => ({
    kind: 'form',
    form: { requestedSchema: { type: 'object', properties: { a: { type: 'string', description: text } } } },
  }),
  'an option': text => ({
    kind: 'form',
    form: { requestedSchema: { type: 'object', properties: { a: { type: 'string', enum: [text, 'other'] } } } },
  }),
  'the title of an option': text => ({
    kind: 'form',
    form: {
      requestedSchema: { type: 'object', properties: { a: { type: 'string', oneOf: [{ const: 'a', title: text }] } } },
    },
  }),
  'a default': text => ({
    kind: 'form',
    form: { requestedSchema: { type: 'object', properties: { a: { type: 'string', default: text } } } },
  }),
} satisfies Record<string, (text: string) => Ask>;
const names = Object.keys(places) as (keyof typeof places)[];

let browser: Browser;
let stage: Stage;
let person: Person;
let user: string;
beforeAll(async () => {
  [browser, stage] = await Promise.all([
    sharedBrowser(),
    startStage({ mcpServer: { payment: { maxAmount: { EUR: 1000 } }, limits: { elicitationsPerSubject: 10_000 } } }),
  ]);
  user = stage.subject();
  person = await newPerson(browser, user);
  const { url, elicitationId } = await issueFor(stage, user, places['the payee']('Shop'));
  await person.page.goto(url);
  await signIn(person.page, user);
  await person.page.locator('form[action$="/accept"]').waitFor();
  await stage.api.cancel(elicitationId);
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

/** Names of all elements, in order: what a text that is only text cannot change. */
const skeleton = () => person.page.locator('html *').evaluateAll(elements => elements.map(({ tagName }) => tagName));
const plain = (text: string): string => text.normalize('NFC').trim();

describe('S31: every text of every kind stays text', () => {
  it.each(names)('%s', async place => {
    const foreign: string[] = [];
    const { page } = person;
    const note = (request: { url(): string }) => {
      if (!request.url().startsWith(stage.world.publicUrl)) foreign.push(request.url());
    };
    page.on('request', note);
    let expected: string[] | undefined;
    for (const text of ['Plain', ...texts]) {
      const { url, elicitationId } = await issueFor(stage, user, places[place](text));
      await page.goto(url);
      expected ??= await skeleton();
      expect([text, await skeleton()]).toEqual([text, expected]);
      const shown = await page.locator('body').textContent();
      const values = await page
        .locator('input, textarea, option')
        .evaluateAll(elements => elements.map(element => ('value' in element ? String(element.value) : '')));
      expect([shown, ...values].some(part => part?.includes(plain(text)))).toBe(true);
      expect(await page.title()).not.toMatch(/owned|^1$/);
      await stage.api.cancel(elicitationId);
    }
    page.off('request', note);
    expect(foreign).toEqual([]);
  });

  it.each(names)('%s: what turns a text around, hides it or breaks its line is refused', async place => {
    const subject = { issuer: stage.world.identityProvider.issuer, subject: user };
    for (const text of refused) {
      // A default may have several lines, as an answer may.
      if (place === 'a default' && text.includes('\n')) continue;
      const { status } = await stage.api.call('POST', '/v1/elicitations', { ...places[place](text), subject });
      expect([text, status]).toEqual([text, 400]);
    }
  });
});
