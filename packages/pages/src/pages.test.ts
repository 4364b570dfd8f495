import { describe, expect, test } from 'vitest';
import { languageOf, locales } from './languages/languages.ts';
import { pageScript } from './page-script.ts';
import { browsersPage } from './pages/browsers-pages.ts';
import { connectPage } from './pages/connect-page.ts';
import { disconnectedAllPage } from './pages/data-pages.ts';
import { devicePage } from './pages/device-page.ts';
import { disconnectedPage, disconnectPage } from './pages/disconnect-pages.ts';
import { donePage } from './pages/done-page.ts';
import { historyPage } from './pages/history-page.ts';
import { leavingPage } from './pages/leaving-page.ts';
import { type ConnectionView, mePage } from './pages/me-page.ts';
import { errorPage, wrongPersonPage } from './pages/refusal-pages.ts';
import { renamePasskeyPage } from './pages/rename-passkey-page.ts';
import { signInPage } from './pages/sign-in-pages.ts';
import { samplePages } from './samples/sample-pages.ts';
import {
  sampleAuthorization,
  sampleConnect,
  sampleConnection,
  sampleDevice,
  sampleMcpServer,
  samplePerson,
} from './samples/sample-views.ts';
import { hostileStrings } from './testing/hostile-strings.ts';
import { sampleContext } from './testing/sample-context.ts';
import { widthOf } from './text-width.ts';
import type { PageContext } from './views.ts';

const contextFor = (locale: (typeof locales)[number]): PageContext => ({ ...sampleContext, locale });
const english = sampleContext;

const count = (markup: string, pattern: RegExp) => [...markup.matchAll(pattern)].length;

/** The positions of texts on a page; -1: missing. */
const positions = (markup: string, pieces: readonly string[]) => pieces.map(piece => markup.indexOf(piece));

const cases = locales.flatMap(locale =>
  Object.entries(samplePages).map(([name, render]) => ({ locale, name, markup: render(contextFor(locale)) })),
);

describe.each(cases)('$name in $locale', ({ name, locale, markup }) => {
  test('is a complete document in its language', () => {
    expect(markup.startsWith('<!doctype html>\n')).toBe(true);
    expect(count(markup, /<html /g)).toBe(1);
    expect(markup).toContain(`<html lang="${locale}" dir="${languageOf(locale).direction}">`);
    expect(markup).toContain('<meta charset="utf-8">');
    expect(markup).toMatch(/<title>[^<]+ · \u2068Northwind\u2069<\/title>/);
    expect(markup).not.toMatch(/undefined|\[object|NaN|Invalid Date/);
  });

  test('has one main heading and landmarks', () => {
    expect(count(markup, /<h1>/g)).toBe(1);
    expect(count(markup, /<main /g)).toBe(1);
    expect(count(markup, /<header /g)).toBe(1);
    expect(count(markup, /<footer /g)).toBe(1);
    expect(count(markup, /<img /g)).toBe(count(markup, /<img [^>]*alt="/g));
  });

  test('contains nothing that the content security policy would block', () => {
    expect(markup.split(`<script src="${pageScript.path}" defer></script>`)).toHaveLength(2);
    expect(markup.replace(/<script src="[^"]*" defer><\/script>/, '')).not.toMatch(
      /<script|<style|<iframe|<object|<base/,
    );
    const refresh = markup.match(/<meta http-equiv[^>]*>/g) ?? [];
    expect(refresh).toHaveLength(name.startsWith('leaving') ? 1 : 0);
    for (const meta of refresh) expect(meta).toMatch(/^<meta http-equiv="refresh" content="0;url=https:[^"]+">$/);
    expect(markup).not.toMatch(/<[^>]+\s(?:style|on[a-z]+|ping|formaction)=/);
    expect(count(markup, /<link rel="stylesheet" /g)).toBe(1);
    for (const [, address] of markup.matchAll(/(?:\s(?:src|srcset|action)|<link [^>]*href)="([^"]*)"/g)) {
      expect(address).toMatch(/^\/(?!\/)/);
    }
  });

  test('has only POST forms with a synchronizer token', () => {
    const forms = [...markup.matchAll(/<form ([^>]*)>(.*?)<\/form>/g)];
    expect(forms).toHaveLength(count(markup, /<form/g));
    for (const [, attributes, content] of forms) {
      expect(attributes).toMatch(
        /^(?:class="needs-script" )?method="post" action="\/[^"]*" autocomplete="off"(?: id="answer"(?: novalidate)?)?(?: data-[a-z-]+(?:="[^"]*")?)*$/,
      );
      expect(content).toMatch(
        /^<input type="hidden" name="csrf_token" value="csrf-value">(?:<input type="hidden" name="(?:shown|ceremony|response)" value="[^"]*">)*<button /,
      );
    }
    const submitting = count(markup, /<button[^>]* type="submit"/g);
    // A yes-or-no question has two answers in one form.
    expect(submitting).toBe(forms.length + (name.startsWith('form-yes-no') ? 1 : 0));
    // The others are hidden until the script shows them.
    expect(count(markup, /<button[^>]* type="button" hidden /g)).toBe(count(markup, /<button/g) - submitting);
  });

  test('sends no referrer to other origins', () => {
    for (const [link] of markup.matchAll(/<a [^>]*href="https?:[^>]*>/g)) {
      expect(link).toMatch(/ rel="(?:noopener )?noreferrer"/);
      expect(link.includes('target=')).toBe(link.includes(' target="_blank" rel="noopener noreferrer"'));
    }
  });
});

describe('reading order', () => {
  test('of a decision', () => {
    const order = positions(connectPage(english, { ...sampleConnect, notice: 'provider_denied' }), [
      'class="notice"',
      'class="marks"',
      '<h1><bdi>Issue Tracker</bdi>',
      '<bdi>issues.northwind.example</bdi>',
      '<bdi>K7-42</bdi>',
      'class="glance"',
      '<bdi>Read, change and delete content of your repositories, private ones too</bdi>',
      '<bdi>Change the automatic workflows of your repositories</bdi>',
      '<bdi>Read your profile</bdi>',
      '<blockquote dir="auto"><bdi>I need this',
      'class="bar"',
      '<bdi>Ada Okafor</bdi>',
      '<bdi>ada@northwind.example</bdi>',
      '<bdi>login.northwind.example</bdi>',
      'action="/logout"',
      'action="/e/0a.sample/decline"',
      'action="/e/0a.sample/accept"',
      'class="button accent" type="submit"><span>Continue to <span class="host" dir="ltr" translate="no"><bdi>github.com</bdi>',
      'datetime="2026-03-04T14:32:00.000Z"',
    ]);
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('of the leaving page: the link back comes first', () => {
    const markup = samplePages['leaving']?.(english) ?? '';
    const order = positions(markup, [
      '<h1>',
      'Issue Tracker</bdi></strong>',
      'href="/e/0a.sample"',
      'href="https://github.com/',
    ]);
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });
});

describe('the connect page', () => {
  test('shows the description of a permission, or its identifier if there is none', () => {
    const scopes = [...sampleAuthorization.scopes, { scope: 'audit_log' }];
    const authorization = { ...sampleAuthorization, scopes };
    const markup = connectPage(english, { ...sampleConnect, authorization });
    expect(markup).not.toContain('read:user');
    expect(markup).toContain('<code dir="ltr" translate="no"><bdi>audit_log</bdi></code>');
  });

  test('shows no account in single-user mode', () => {
    const markup = samplePages['connect-loopback']?.(english) ?? '';
    expect(markup).not.toContain('Ada');
    expect(markup).not.toContain('/logout');
  });

  test('has no quotation if the MCP server sent no message', () => {
    const { message: _message, requestedBy: _requestedBy, ...silent } = sampleConnect;
    expect(connectPage(english, silent)).not.toMatch(/class="(?:quoted|claim)"/);
    expect(connectPage(english, { ...silent, requestedBy: {} })).not.toMatch(/class="(?:quoted|claim)"/);
    for (const requestedBy of [{ tool: 'list-x' }, { mcpClient: 'list-x' }, { tool: 'x', mcpClient: 'list-x' }]) {
      const markup = connectPage(english, { ...silent, requestedBy });
      expect(markup).not.toContain('class="quoted"');
      expect(markup).toMatch(/<span class="claim">[^/]*“<bdi>list-x<\/bdi>”/);
    }
  });

  test('shows the expiry in the format of the locale and with a time zone', () => {
    const timeOf = (locale: (typeof locales)[number], now?: Date) => {
      const { now: _now, ...view } = sampleConnect;
      const markup = connectPage(contextFor(locale), now === undefined ? view : { ...view, now });
      return /<p>((?:(?!<\/p>).)*<time.*?)<\/p>/.exec(markup)?.[1]?.replace(/<[^>]*>/g, '') ?? '';
    };
    for (const locale of locales) {
      for (const now of [undefined, new Date('2026-03-04T14:22:00Z'), new Date('2026-03-01T00:00:00Z')]) {
        expect(timeOf(locale, now)).toContain('UTC');
      }
      expect(timeOf(locale)).toContain('2026');
      expect(timeOf(locale, new Date('2026-03-04T14:22:59Z'))).toMatch(/\b9\b|9分/);
      expect(timeOf(locale, new Date('2026-03-04T14:31:20Z'))).toContain('40');
      expect(timeOf(locale, new Date('2026-03-04T15:00:00Z'))).toMatch(/\b0\b|0秒/);
    }
    expect(timeOf('en')).not.toBe(timeOf('zh-Hans'));
  });
});

describe('hosts', () => {
  test('are refused unless normalised', () => {
    const mcpServer = { ...sampleMcpServer, host: 'аррӏе.com' };
    expect(() => connectPage(english, { ...sampleConnect, mcpServer })).toThrow(TypeError);
    const person = { ...samplePerson, signInHost: 'login.example/\u202e' };
    expect(() => connectPage(english, { ...sampleConnect, person })).toThrow(TypeError);
    expect(() => signInPage(english, { continueHref: '/login', destinationHost: 'Login.example' })).toThrow(TypeError);
  });

  test('a link to another host than the page names is refused', () => {
    const view = {
      mcpServer: sampleMcpServer,
      providerName: 'GitHub',
      destinationHost: 'github.com',
      backHref: '/e/1',
    };
    expect(() => leavingPage(english, { ...view, continueHref: 'https://github.com.evil.example/' })).toThrow(
      TypeError,
    );
    expect(() => leavingPage(english, { ...view, continueHref: 'https://github.com:444/' })).toThrow(TypeError);
    expect(() => leavingPage(english, { ...view, continueHref: 'javascript:alert(1)' })).toThrow(TypeError);
    expect(leavingPage(english, { ...view, continueHref: 'https://GITHUB.com/x?a=1&b=2' })).toContain(
      'href="https://github.com/x?a=1&#38;b=2" rel="noreferrer"',
    );
  });
});

describe.each(hostileStrings)('hostile text %j', hostile => {
  // Of the same width, which decides on the size of headings and on what is cut.
  const benign = 'b'.repeat(widthOf(hostile));
  const tagsOf = (markup: string) =>
    (markup.replace(/ tone-\d+/g, '').match(/<[^>]*>/g) ?? []).filter(tag => !tag.includes('value='));
  const connectionOf = (text: string): ConnectionView => ({
    ...sampleConnection,
    providerName: text,
    accountName: text,
    mcpServers: [
      { name: text, host: 'a.example' },
      { name: text, host: 'b.example' },
    ],
    scopes: [{ scope: text }, { scope: 'x', description: text }],
    lastUse: { at: new Date(0), mcpServerName: text, tool: text },
    lost: 'rejected',
  });
  const render = (text: string) => [
    connectPage(
      { ...english, branding: { name: text } },
      {
        ...sampleConnect,
        mcpServer: { name: text, host: 'a.example' },
        person: { displayName: text, detail: text },
        authorization: {
          providerName: text,
          destinationHost: 'b.example',
          scopes: [
            { scope: text, isNew: true },
            { scope: 'x', description: text },
          ],
          reconnect: { reason: 'rejected', connectedAt: new Date(0) },
        },
        shown: text,
        message: text,
        requestedBy: { mcpClient: text, tool: text },
        matchCode: text,
        csrfToken: text,
        notice: 'fewer_scopes',
        missing: [{ scope: text }, { scope: 'x', description: text }],
      },
    ),
    donePage(english, {
      mcpServer: { name: text, host: 'a.example' },
      providerName: text,
      accountName: text,
      scopes: [{ scope: text }],
    }),
    devicePage(english, {
      ...sampleDevice,
      mcpServer: { name: text, host: 'a.example' },
      providerName: text,
      userCode: text,
      person: { displayName: text, detail: text },
      csrfToken: text,
      notice: 'not_yet',
    }),
    mePage(
      { ...english, branding: { name: text } },
      {
        signedIn: { person: { displayName: text, detail: text }, signOutAction: '/logout', csrfToken: text },
        waiting: [
          {
            mcpServer: { name: text, host: 'a.example' },
            about: { kind: 'authorization', providerName: text },
            expiresAt: new Date(0),
            openHref: '/e/1',
          },
          {
            mcpServer: { name: text, host: 'a.example' },
            about: { kind: 'confirmation', title: text },
            expiresAt: new Date(0),
            openHref: '/e/1',
          },
        ],
        connections: [connectionOf(text), { ...connectionOf(text), scopes: Array(5).fill({ scope: text }) }],
        credentials: [],
        passkeys: [{ label: text, addedAt: new Date(0), renameHref: '/me/p/1', removeHref: '/me/p/2' }],
        historyHref: '/me/history',
        answersKeptHours: 24,
        browsersHref: '/me/browsers',
        dataHref: '/me/data',
      },
    ),
    historyPage(english, {
      answersKeptHours: 24,
      earlier: [
        {
          mcpServerName: text,
          amount: { currency: 'EUR', minorUnits: 1, decimals: 2 },
          paidAt: new Date(0),
          isTest: false,
          refunds: [],
        },
      ],
      paymentsKeptDays: 400,
      answered: [
        {
          mcpServerName: text,
          about: { kind: 'form', title: text },
          status: 'completed',
          endedAt: new Date(0),
          openHref: '/e/1',
        },
      ],
      backHref: '/me',
    }),
    browsersPage(
      { ...english, branding: { name: text } },
      {
        browsers: [{ name: text, throughName: text, signedInAt: new Date(0), isThis: true }],
        endAllAction: '/me/browsers/end',
        csrfToken: text,
        backHref: '/me',
      },
    ),
    renamePasskeyPage(english, { label: text, action: '/me/p/1', keepHref: '/me', csrfToken: text }),
    disconnectedAllPage(
      { ...english, branding: { name: text } },
      { revoked: [text], pending: [text], unsupported: [text], backHref: '/me' },
    ),
    signInPage(english, { choices: [{ name: text, href: '/login' }] }),
    disconnectPage(
      { ...english, branding: { name: text } },
      {
        ...connectionOf(text),
        provider: 'revoke',
        disconnectAction: '/me/connections/1',
        keepHref: '/me',
        csrfToken: text,
      },
    ),
    disconnectedPage(
      { ...english, branding: { name: text } },
      { ...connectionOf(text), provider: 'unsupported', backHref: '/me' },
    ),
    wrongPersonPage(english, { person: { displayName: text }, switchAccountAction: '/logout', csrfToken: text }),
    errorPage(english, { requestId: text, kind: 'internal' }),
  ];

  test('hostile text adds no tag and no attribute anywhere', () => {
    expect(render(hostile).map(tagsOf)).toEqual(render(benign).map(tagsOf));
  });
});
