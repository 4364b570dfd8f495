import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueFor } from '../support/asks.ts';
import { newPerson, openSignedIn, type Person } from '../support/browser.ts';
import { askFor, startWorld, type World } from '../support/world.ts';

/** Texts of a hostile MCP server, which the page shows as plain text. */
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
  'Z\u0351\u036b\u0313\u036aA\u0320LGO',
  'constructor __proto__',
];

/** An action has at most 30 characters. */
function textFor(place: string, round: number): string {
  const fitting = place === 'action' ? texts.filter(text => text.length <= 30) : texts;
  return fitting[round % fitting.length] ?? '';
}

/** Longer texts, for messages. */
const messages = [
  '<script>document.title = "owned"</script>',
  '<img src=x onerror="document.title=1">',
  '</blockquote></section><form action="https://evil.example"><button>Continue</button></form>',
  '<a href="https://evil.example">Click</a>',
  '</title><meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<base href="https://evil.example/">',
  '<style>*{display:none}</style>',
  '"><svg/onload=alert(1)>',
  "' autofocus onfocus='alert(1)",
  '&lt;b&gt;entities&lt;/b&gt; &#60; &amp;amp;',
  '<!-- -->',
  '{{7*7}} ${7*7} #{7*7} <%= 7*7 %>',
  '{mcpServer} {provider} {message}',
  '[Continue](https://evil.example) **bold** `code`',
  'javascript:alert(1)',
  'Signed in as Mallory. You will continue at evil.example',
  'مرحبا (نص) 123 github.com',
  'שלום github.com',
  '👩‍👩‍👧‍👦 family',
  'аррӏе.com',
  'Z\u0351\u036b\u0313\u036aA\u0320LGO',
  'W'.repeat(300),
  'constructor __proto__ toString',
];

/** Refused characters: they reverse text, hide it or break its line. */
const refused = [
  'Z\u0351\u036b\u0313\u036a\u0302\u036bALGO',
  'fr\u0336ee\u0336',
  '\u3164',
  'invoice\u202Egnp.exe',
  '\u2066isolate\u2069',
  '\u200Fright',
  'nul\u0000',
  'escape\u001B[31mred',
  'c1\u0085line',
  'line\u2028separator',
  'tag\u{E0041}',
  'private\uE000',
  'lone\uD800surrogate',
];

type Ask = Parameters<typeof issueFor>[2];
const NEUTRAL = 'Plain';

/** For each kind, a request with one text in every place for text, in the order of `places`. */
const kinds = {
  payment: {
    places: ['payee', 'reference', 'item'],
    ask: ([payee = NEUTRAL, reference = NEUTRAL, label = NEUTRAL]) => ({
      kind: 'payment',
      payment: {
        payee: { name: payee },
        reference,
        items: [{ label, unitMinorUnits: 100 }],
        amount: { currency: 'EUR', minorUnits: 100 },
        processor: 'none',
      },
    }),
  },
  confirmation: {
    places: ['title', 'label of a fact', 'fact', 'action'],
    ask: ([title = NEUTRAL, label = NEUTRAL, value = NEUTRAL, action = NEUTRAL]) => ({
      kind: 'confirmation',
      confirmation: { title, action, facts: [{ type: 'text', label, value }] },
    }),
  },
  credential: {
    places: ['title', 'label', 'help', 'example'],
    ask: ([title = NEUTRAL, label = NEUTRAL, help = NEUTRAL, example = NEUTRAL]) => ({
      kind: 'credential',
      credential: { name: 'key', title, fields: [{ name: 'key', label, help, example }] },
    }),
  },
  form: {
    places: ['title', 'question', 'description', 'option', 'title of an option', 'default'],
    ask: ([
      title = NEUTRAL,
      question = NEUTRAL,
      description = NEUTRAL,
      option = NEUTRAL,
      optionTitle = NEUTRAL,
      preset = NEUTRAL,
    ]) => ({
      kind: 'form',
      form: {
        title,
        requestedSchema: {
          type: 'object',
          properties: {
            a: { type: 'string', title: question },
            b: { type: 'string', description },
            c: { type: 'string', enum: [option, 'other'] },
            d: { type: 'string', oneOf: [{ const: 'a', title: optionTitle }] },
            e: { type: 'string', default: preset },
          },
        },
      },
    }),
  },
} satisfies Record<string, { places: readonly string[]; ask: (texts: readonly string[]) => Ask }>;
const names = Object.keys(kinds) as (keyof typeof kinds)[];
const everyPlace = names.flatMap(kind => kinds[kind].places.map((place, at) => [kind, place, at] as const));

let browser: Browser;
let world: World;
let person: Person;
let user: string;
const foreign: string[] = [];
beforeAll(async () => {
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({ mcpServer: { payment: { maxAmount: { EUR: 1000 } }, limits: { elicitationsPerSubject: 10_000 } } }),
  ]);
  user = world.subject();
  person = await newPerson(browser, user);
  const issued = await issueFor(world, user, kinds.payment.ask([]));
  await openSignedIn(person, world, issued);
  await person.page.locator('form[action$="/accept"]').waitFor();
  await world.api.cancel(issued.elicitationId);
  person.page.on('request', request => {
    if (!request.url().startsWith(world.publicUrl)) foreign.push(request.url());
  });
});
afterAll(async () => {
  await person?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

/** Names of all elements, in order. Plain text cannot change them, except that a long text is cut until it is opened. */
const skeleton = () =>
  person.page
    .locator('html *:not(.whole, .whole > summary, .clamp)')
    .evaluateAll(elements => elements.map(({ tagName }) => tagName));

describe('S31: every text of an MCP server is rendered as text', () => {
  it.each(names)('%s: shows each text in each place and changes nothing else', async kind => {
    const { page } = person;
    const { ask, places } = kinds[kind];
    let expected: string[] | undefined;
    // Each round rotates the texts, so that after all rounds each place has shown each text.
    for (const round of [-1, ...texts.keys()]) {
      const chosen = round < 0 ? [] : places.map((place, at) => textFor(place, round + at));
      const { url, elicitationId } = await issueFor(world, user, ask(chosen));
      await page.goto(url);
      expected ??= await skeleton();
      expect([chosen, await skeleton()]).toEqual([chosen, expected]);
      const shown = await page.locator('body').textContent();
      const values = await page
        .locator('input, textarea, option')
        .evaluateAll(elements => elements.map(element => ('value' in element ? String(element.value) : '')));
      for (const text of chosen)
        expect([text, [shown, ...values].some(part => part?.includes(text.normalize('NFC').trim()))]).toEqual([
          text,
          true,
        ]);
      expect(await page.title()).not.toMatch(/owned|^1$/);
      await world.api.cancel(elicitationId);
    }
    expect(foreign).toEqual([]);
  });

  it('authorization: shows each message verbatim inside its quotation and changes nothing else', async () => {
    let expected: string[] | undefined;
    for (const message of messages) {
      const { url, elicitationId } = await world.ask(user, { message, requestedBy: { tool: 'tool' } });
      await person.page.goto(url);
      expected ??= await skeleton();
      expect([message, await skeleton()]).toEqual([message, expected]);
      expect(await person.page.locator('blockquote').textContent()).toBe(message.normalize('NFC'));
      expect(await person.page.title()).not.toMatch(/owned|^1$/);
      await world.api.cancel(elicitationId);
    }
    expect(foreign).toEqual([]);
  });

  it.each(everyPlace)(
    '%s, %s: refuses invisible characters, bidirectional controls and line breaks',
    async (kind, place, at) => {
      const subject = { issuer: world.identityProvider.issuer, subject: user };
      // A default may have several lines, like an answer.
      for (const text of place === 'default' ? refused : [...refused, 'a\nb']) {
        const chosen = kinds[kind].places.map((_, each) => (each === at ? text : NEUTRAL));
        const { status } = await world.api.call('POST', '/v1/elicitations', { ...kinds[kind].ask(chosen), subject });
        expect([text, status]).toEqual([text, 400]);
      }
    },
  );

  it('authorization: refuses such text in its message and in the names of client and tool', async () => {
    for (const text of refused)
      for (const change of [{ message: text }, { requestedBy: { tool: text } }, { requestedBy: { mcpClient: text } }]) {
        const { status } = await world.api.issue(askFor(world, user, change));
        expect([text, status]).toEqual([text, 400]);
      }
  });
});
