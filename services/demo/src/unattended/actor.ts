import type { Browser } from 'playwright-core';
import type { Constellation } from '../constellation.ts';
import { connectHost, type Era, type HostConnection, type UrlQuestion } from '../host/host.ts';
import { inspectUrl } from '../host/show-url.ts';
import type { FrameLog } from './frame-log.ts';
import { HeadlessPerson } from './headless-browser.ts';
import { check, checkEqual, within } from './report.ts';
import { UnattendedUser } from './unattended-user.ts';

/** How long an answer of the machines may take, in milliseconds. */
const PATIENCE_MS = 20_000;

/** Who somebody is, at work and at Code Forge. */
export interface Role {
  readonly name: string;
  readonly forgeAccount: string;
}

/** Somebody of the story: a host of their own, a browser of their own. */
export class Actor implements AsyncDisposable {
  readonly role: Role;
  readonly browser: HeadlessPerson;
  readonly #user: UnattendedUser;
  readonly #host: HostConnection;
  readonly #world: Constellation;

  private constructor(p: {
    role: Role;
    browser: HeadlessPerson;
    user: UnattendedUser;
    host: HostConnection;
    world: Constellation;
  }) {
    this.role = p.role;
    this.browser = p.browser;
    this.#user = p.user;
    this.#host = p.host;
    this.#world = p.world;
  }

  /** Connects the host; the browser signs the person in to the MCP server on the way. */
  static async enter(p: {
    role: Role;
    era: Era;
    world: Constellation;
    chromium: Browser;
    frames: FrameLog;
  }): Promise<Actor> {
    await using stack = new AsyncDisposableStack();
    const browser = stack.use(await HeadlessPerson.sitDown(p.chromium));
    const user = new UnattendedUser();
    const connecting = connectHost({ mcpUrl: p.world.mcpUrl, era: p.era, user, fetch: p.frames.fetch });
    const signingIn = (async () => {
      const question = await user.nextQuestion();
      checkEqual(question.purpose, 'sign-in', 'the host’s first question');
      await browser.open(question.url);
      await browser.press(`Continue as ${p.role.name}`);
      await browser.see('Terminal Host asks for access');
      await browser.press('Allow');
      await browser.read('Signed in.');
    })();
    const [host] = await within(PATIENCE_MS, 'sign-in to the MCP server', Promise.all([connecting, signingIn]));
    stack.use(host);
    checkEqual(host.revision, p.era, 'MCP revision');
    stack.move();
    return new Actor({ role: p.role, browser, user, host, world: p.world });
  }

  /** Calls a tool that has to ask, and takes the question. The call itself goes on. */
  async callAndBeAsked(
    tool: string,
    args: Record<string, unknown> = {},
  ): Promise<{ question: UrlQuestion; matchCode: string; result: () => Promise<{ text: string; isError: boolean }> }> {
    const result = this.#host.callTool(tool, args);
    const asked = this.#user.nextQuestion();
    const first = await within(PATIENCE_MS, 'a URL', Promise.race([asked, result]));
    check('url' in first, 'the tool answered without asking');
    checkEqual(first.purpose, 'elicitation', 'the host’s question');
    const shown = inspectUrl(first.url);
    checkEqual(shown?.parts[1], new URL(this.#world.posternUrl).host, 'domain of the URL');
    checkEqual(shown?.warnings.length, 0, 'warnings about the URL');
    const matchCode = /Code on the page: (\S+)/.exec(first.message)?.[1];
    check(matchCode !== undefined, 'there is no match code in the MCP message');
    // It may fail before the story comes to await it, and is reported there.
    result.catch(() => undefined);
    return { question: first, matchCode, result: () => within(PATIENCE_MS, 'the result of the tool', result) };
  }

  /** Calls a tool that must not ask. */
  async call(tool: string): Promise<string> {
    const { text, isError } = await within(PATIENCE_MS, 'the result of the tool', this.#host.callTool(tool));
    check(!isError, 'the tool answered with an error');
    checkEqual(this.#user.open, 0, 'questions meanwhile');
    return text;
  }

  wasTold(line: string): boolean {
    return this.#user.told.includes(line);
  }

  /** Opens the link; signs in at Example ID, which knows this browser already; arrives at the question. */
  async arrive(url: string, matchCode: string): Promise<void> {
    const { browser } = this;
    await browser.open(url);
    await browser.follow('Continue to sign-in');
    await browser.see(/Repository Helper .* Code Forge/);
    await browser.read(matchCode);
    await browser.read(`${this.role.name} Example`);
  }

  /** Accepts, leaves for Code Forge, signs in and allows there, and comes back to the last page. */
  async accept(): Promise<void> {
    const { browser } = this;
    const forgeHost = new URL(this.#world.codeForge.issuer).host;
    await browser.press('Continue');
    await browser.read(forgeHost);
    await browser.follow(forgeHost);
    await browser.press(`Continue as ${this.role.forgeAccount}`);
    await browser.see('Repository Helper asks for access');
    checkEqual(browser.host, forgeHost, 'the page that asks to allow');
    await browser.press('Allow');
    await browser.see(/Your .*Code Forge.* account is connected/);
    await browser.read(this.role.forgeAccount);
    checkEqual(browser.host, new URL(this.#world.posternUrl).host, 'the last page');
  }

  /** Says no on the page that asks. */
  async decline(): Promise<void> {
    await this.browser.press('Decline');
    await this.browser.see('You declined');
  }

  /** Ends the one connection that `/me` lists. */
  async disconnect(): Promise<void> {
    const { browser } = this;
    await browser.follow('Disconnect');
    await browser.see(/Disconnect your .*Code Forge/);
    await browser.press('Disconnect');
    await browser.see(/Your .*Code Forge.* account is disconnected/);
    await browser.read('ended the access as well');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host[Symbol.asyncDispose]();
    await this.browser[Symbol.asyncDispose]();
  }
}
