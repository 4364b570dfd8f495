/** Loads every sample page once per locale, and checks everything that the loaded page shows. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { hasNewElement, sharedBrowser } from '@postern/testkit/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Locale } from './languages/languages.ts';
import { accentColours } from './palette.ts';
import { sampleApprovalPages } from './samples/sample-approval-pages.ts';
import { samplePages } from './samples/sample-pages.ts';
import { buttonsOutOfView, decisionPages, type FirstView, faultsOf, firstViewsOf } from './testing/first-view.ts';
import { type PageServer, servePages } from './testing/page-server.ts';
import { sampleBranding } from './testing/sample-context.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const branding = { ...sampleBranding, logo: { path: '/assets/logo.svg', width: 48, height: 48 } };
const approvals = Object.keys(sampleApprovalPages).filter(
  name => !/^(?:receipt|confirmed|charge-processing|passkey-wait|daily-limit)/.test(name),
);
/** Pages that offer two decisions. */
const decisions = [
  ...approvals,
  ...['connect', 'leaving', 'device', 'disconnect'].flatMap(name => [name, `${name}-extreme`]),
  ...['credential', 'form', 'delete-credential', 'passkey-remove', 'passkey-add'],
];
const badPage = () => `<!doctype html><html><title> </title><img src="/assets/logo.svg" width="2000">
  <div class="decision"><button class="button">a</button><button class="button">longer</button></div></html>`;
const tallPage = () => `<!doctype html><html lang="en"><title>x</title><link rel="stylesheet" href="/x.css">
  <img src="/assets/logo.svg" height="2000" alt=""><div class="decision"><button class="button">No</button></div></html>`;
const stylePage = () => '<!doctype html><html lang="en"><title>x</title><p style="color:red">x</p></html>';

const lengthOf = (name: string) =>
  samplePages[name]?.({ locale: 'en', branding, stylesheetPath: '/x.css' }).length ?? 0;
/** The longest first: they have most kinds of elements, so the fewest pages show a new one. */
const names = Object.keys(samplePages).toSorted((a, b) => lengthOf(b) - lengthOf(a));

const phone = 320;
type Theme = 'light' | 'dark';
/** Pages that are checked in every look, and in other media: those with the most content, and all approvals. */
const inEveryLook = new Set([
  ...Object.keys(sampleApprovalPages),
  ...['connect', 'connect-extreme', 'leaving-extreme', 'done', 'device-extreme', 'me', 'me-extreme'],
  ...['disconnect-extreme', 'disconnected-extreme', 'me-all', 'me-all-extreme'],
  ...['credential-extreme', 'form', 'form-faults', 'form-extreme', 'bad'],
]);
/** Rules of axe-core whose result depends on colours and width. All others have the same result in every look of a page. */
const rulesOfLooks = ['color-contrast', 'link-in-text-block', 'target-size'];

let pageServer: PageServer;

beforeAll(async () => {
  pageServer = await servePages({ branding, extraPages: { bad: badPage, tall: tallPage, 'inline-style': stylePage } });
});

afterAll(async () => {
  await pageServer[Symbol.asyncDispose]();
});

/** A tab, and its reports while pages load in it. */
interface Tab {
  readonly page: Page;
  /** Violations of the content security policy. */
  readonly violations: readonly string[];
  /** Requests to other origins. */
  readonly foreign: readonly string[];
}

async function withTab(use: (tab: Tab) => Promise<void>): Promise<void> {
  const context = await (await sharedBrowser()).newContext({ viewport: { width: phone, height: 800 } });
  try {
    const page = await context.newPage();
    const violations: string[] = [];
    const foreign: string[] = [];
    page.on('console', message => {
      if (/content security policy/i.test(message.text())) violations.push(message.text());
    });
    page.on('request', request => {
      if (!request.url().startsWith(pageServer.origin)) foreign.push(request.url());
    });
    await use({ page, violations, foreign });
  } finally {
    await context.close();
  }
}

interface Button {
  readonly width: number;
  readonly height: number;
  readonly type: string;
  readonly isFilled: boolean;
}

/** One page in one look. */
interface Look {
  /** Number of pixels by which the page is wider than its window. */
  readonly overflow: number;
  readonly accent: string;
  readonly buttons: readonly Button[];
}

const overflowSource = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const lookSource = `({
  overflow: ${overflowSource},
  accent: getComputedStyle(document.documentElement).getPropertyValue('--accent'),
  buttons: [...document.querySelectorAll('.decision .button')].map(button => {
    const { width, height } = button.getBoundingClientRect();
    const { fontSize, fontWeight, fontFamily, borderRadius, borderWidth, opacity, backgroundColor } = getComputedStyle(button);
    const type = [fontSize, fontWeight, fontFamily, borderRadius, borderWidth, opacity].join();
    return { width, height, type, isFilled: backgroundColor !== 'rgba(0, 0, 0, 0)' };
  }),
})`;
const factsSource = `({
  language: document.documentElement.lang,
  isTitled: document.title.trim() !== '',
  logoWidth: document.querySelector('img')?.naturalWidth,
  firstDecision: document.querySelector('.decision form')?.getAttribute('action'),
})`;
const rightToLeftSource = `(() => {
  const root = document.documentElement;
  const before = root.dir;
  root.dir = 'rtl';
  const overflow = ${overflowSource};
  root.dir = before;
  return overflow;
})()`;

/** Findings of axe-core, of any impact. */
async function findingsOf(page: Page, rules: 'all' | readonly string[]): Promise<{ id: string; html: string }[]> {
  // Only pages that are audited load it: it is larger than all of them together.
  await page.evaluate(`globalThis.axe ?? (() => {${axeSource}})()`);
  // axe-core leaves out the size of targets (WCAG 2.2, 2.5.8) unless asked.
  const chosen = rules === 'all' ? { rules: { 'target-size': { enabled: true } } } : { runOnly: rules };
  const options = JSON.stringify({ resultTypes: ['violations'], selectors: false, ...chosen });
  return await page.evaluate(
    `axe.run(${options}).then(r => r.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => ({ id, html }))))`,
  );
}

interface Visit {
  /** Of a page with a decision. */
  readonly firstViews: readonly FirstView[];
  /** Buttons of the decision that a laptop at 200 % zoom does not show. */
  readonly outOfView: number;
  readonly facts: { language: string; isTitled: boolean; logoWidth?: number; firstDecision?: string };
  readonly looks: readonly (Look & { readonly width: number; readonly theme: Theme })[];
  /** Overflow by medium. */
  readonly media: Readonly<Record<string, number>>;
  /** Of axe-core. */
  readonly findings: readonly { readonly id: string; readonly html: string }[];
}

/** The checks of one locale. */
interface Round {
  readonly locale: Locale;
  /**
   * In this order, after loading the page once. A page whose elements have all been seen on earlier pages shows the first look
   * only, unless it is one of `inEveryLook`.
   */
  readonly looks: readonly {
    readonly width: number;
    readonly theme: Theme;
    /** Rules of axe-core. Default: none. */
    readonly rules?: 'all' | readonly string[];
  }[];
  /** Whether other media are checked as well, after the looks. */
  readonly hasMedia: boolean;
  /** Whether the first views of decisions are checked, before everything else. */
  readonly hasFirstViews: boolean;
  /** Default: all. */
  readonly pages?: ReadonlySet<string>;
}

const wide = 1280;
const light = { width: phone, theme: 'light', rules: 'all' } as const;
const inFull: Round = {
  locale: 'en',
  looks: [light, { width: wide, theme: 'dark', rules: rulesOfLooks }],
  hasMedia: true,
  hasFirstViews: true,
};
const rounds: readonly Round[] = [
  inFull,
  {
    locale: 'zh-Hans',
    looks: [{ width: phone, theme: 'dark' }],
    hasMedia: false,
    hasFirstViews: false,
    pages: inEveryLook,
  },
];

async function visit(page: Page, name: string, round: Round, seen = new Set<string>()): Promise<Visit> {
  await page.goto(pageServer.page(name, round.locale));
  const isDecision = round.hasFirstViews && decisionPages.includes(name);
  // axe-core scrolls.
  const firstViews = isDecision ? await firstViewsOf(page) : [];
  const outOfView = isDecision ? await buttonsOutOfView(page) : 0;
  const looks: Visit['looks'][number][] = [];
  const findings: Visit['findings'][number][] = [];
  const isNew = await hasNewElement(page, seen);
  const isShownInFull = isNew || inEveryLook.has(name);
  for (const { width, theme, rules } of isShownInFull ? round.looks : round.looks.slice(0, 1)) {
    await show(page, width, theme);
    looks.push({ width, theme, ...(await page.evaluate<Look>(lookSource)) });
    if (rules !== undefined) findings.push(...(await findingsOf(page, rules)));
  }
  const media: Record<string, number> = {};
  if (round.hasMedia && inEveryLook.has(name)) {
    await show(page, phone, 'light');
    await page.emulateMedia({ forcedColors: 'active' });
    media['forced-colors'] = await page.evaluate<number>(overflowSource);
    await page.emulateMedia({ forcedColors: 'none', media: 'print' });
    media['print'] = await page.evaluate<number>(overflowSource);
    await page.emulateMedia({ media: 'screen' });
    media['right-to-left'] = await page.evaluate<number>(rightToLeftSource);
  }
  return { firstViews, outOfView, facts: await page.evaluate<Visit['facts']>(factsSource), looks, media, findings };
}

/** Changes only the settings that differ: a change of width costs half as much as loading the page again. */
async function show(page: Page, width: number, theme: Theme): Promise<void> {
  if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme: theme });
}

/** The expected result of a page in every look. */
function expectSound(
  { firstViews, outOfView, facts, looks, media, findings }: Visit,
  name: string,
  locale: Locale,
): void {
  expect({ name, faults: faultsOf(firstViews), outOfView }).toEqual({ name, faults: [], outOfView: 0 });
  const { language, isTitled, logoWidth, firstDecision } = facts;
  const sound = { name, language: locale, isTitled: true, logoWidth: 48, findings: [] };
  expect({ name, language, isTitled, logoWidth, findings }).toEqual(sound);
  for (const [medium, overflow] of Object.entries(media))
    expect({ name, medium, overflow }).toEqual({ name, medium, overflow: 0 });
  for (const { width, theme, overflow, accent, buttons } of looks) {
    const look = { name, width, theme };
    const expected = accentColours(branding, theme)['accent'];
    expect({ ...look, overflow, accent }).toEqual({ ...look, overflow: 0, accent: expected });
    if (!decisions.includes(name)) continue;
    const sizes = buttons.map(button => [button.width, button.height]);
    expect({ ...look, sizes }).toEqual({ ...look, sizes: [sizes[1], sizes[0]] });
    expect(sizes.flat().every(size => size !== undefined && size >= 44)).toBe(true);
    if (!approvals.includes(name)) continue;
    expect({ ...look, buttons }).toEqual({ ...look, buttons: [buttons[1], buttons[0]] });
    expect(buttons[0]).toMatchObject({ isFilled: true });
    expect({ name, firstDecision }).toEqual({ name, firstDecision: '/e/0a.sample/decline' });
  }
}

const titled = rounds.map(round => {
  const looks = round.looks.map(({ width, theme }) => `${theme} at ${width} px`).join(', ');
  const isAudited = round.looks.some(({ rules }) => rules !== undefined);
  const which = round.pages === undefined ? '' : ', those with the most content';
  return [`${round.locale}, ${looks}${which}`, isAudited ? ', and passes axe-core' : '', round] as const;
});

test.each(titled)(
  '%s: every page fits its window, loads nothing from other origins, gives both decisions equal weight and shows them at once%s',
  { timeout: 300_000 },
  async (_look, _audit, round) => {
    await withTab(async ({ page, violations, foreign }) => {
      const seen = new Set<string>();
      for (const name of names.filter(each => round.pages?.has(each) ?? true))
        expectSound(await visit(page, name, round, seen), name, round.locale);
      expect(violations).toEqual([]);
      expect(foreign).toEqual([]);
    });
  },
);

test('every check finds the fault of a bad page', async () => {
  await withTab(async ({ page }) => {
    const { facts, looks, media, findings } = await visit(page, 'bad', inFull);
    expect(facts).toMatchObject({ language: '', isTitled: false });
    expect(findings.map(({ id }) => id)).toEqual(expect.arrayContaining(['html-has-lang', 'image-alt']));
    for (const { overflow, accent, buttons } of looks) {
      expect(overflow).toBeGreaterThan(0);
      expect(accent).toBe('');
      expect(buttons[0]?.width).not.toBe(buttons[1]?.width);
    }
    expect(Object.keys(media)).toEqual(['forced-colors', 'print', 'right-to-left']);
    expect(Object.values(media).every(overflow => overflow > 0)).toBe(true);
  });
});

test('the check for zoomed windows finds a button below the window', async () => {
  await withTab(async ({ page }) => {
    await page.goto(pageServer.page('tall'));
    expect(await buttonsOutOfView(page)).toBe(1);
  });
});

test('the check for foreign requests reports another origin', async () => {
  await withTab(async ({ page, foreign }) => {
    await page.goto(pageServer.page('done').replace('127.0.0.1', 'localhost'));
    expect(foreign).not.toEqual([]);
  });
});

test('the check for blocked content reports an inline style', async () => {
  await withTab(async ({ page, violations }) => {
    await page.goto(pageServer.page('inline-style'));
    await expect.poll(() => violations.length).toBeGreaterThan(0);
  });
});
