import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPerson, type Person, signIn } from '../support/browser.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { askFor } from '../support/world.ts';

/** What a hostile MCP server might say. Either the API refuses it or the page shows it as the plain text it is. */
const texts = [
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
  'Z͑ͫ̓ͪ̂ͫA̴L̠G̴O',
  'W'.repeat(300),
  'constructor __proto__ toString',
  // Refused: what turns text around, hides it or breaks its line.
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
const refused = texts.slice(-10);

let browser: Browser;
let stage: Stage;
let person: Person;
let user: string;

beforeAll(async () => {
  [browser, stage] = await Promise.all([
    sharedBrowser(),
    startStage({ mcpServer: { limits: { elicitationsPerSubject: 1000 } } }),
  ]);
  user = stage.subject();
  person = await newPerson(browser, user);
  const { url, elicitationId } = await stage.ask(user);
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

describe('S31: text of an MCP server stays text', () => {
  it('shows each text as it is, inside its quotation, and nothing else changes', async () => {
    const foreign: string[] = [];
    person.page.on('request', request => {
      if (!request.url().startsWith(stage.world.publicUrl)) foreign.push(request.url());
    });
    let expected: string[] | undefined;
    for (const text of texts) {
      const issued = await stage.api.issue(askFor(stage.world, user, { message: text, requestedBy: { tool: 'tool' } }));
      if (refused.includes(text)) {
        expect([text, issued.status]).toEqual([text, 400]);
        continue;
      }
      expect([text, issued.status]).toEqual([text, 201]);
      await person.page.goto(issued.body.url);
      expected ??= await skeleton();
      expect(await skeleton()).toEqual(expected);
      expect(await person.page.locator('blockquote').textContent()).toBe(text.normalize('NFC'));
      expect(await person.page.title()).not.toMatch(/owned|^1$/);
      await stage.api.cancel(issued.body.elicitationId);
    }
    expect(foreign).toEqual([]);
  });

  it.each(['tool', 'mcpClient'] as const)('refuses in %s what it refuses in a message', async field => {
    for (const text of refused) {
      const { status } = await stage.api.issue(askFor(stage.world, user, { requestedBy: { [field]: text } }));
      expect([text, status]).toEqual([text, 400]);
    }
  });
});
