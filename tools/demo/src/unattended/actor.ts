import type { Browser } from 'playwright-core';
import type { Constellation } from '../constellation.ts';
import type { FrameLog } from '../frame-log.ts';
import { connectHost, type Era, type HostConnection } from '../host/connect-host.ts';
import { HeadlessPerson } from './headless-browser.ts';
import { check, checkEqual, within } from './report.ts';
import { type AskedPage, PATIENCE_MS, RunningCall } from './running-call.ts';
import { UnattendedUser } from './unattended-user.ts';

/** A person of the story, with their accounts at Example ID and at Code Forge. */
export interface Role {
  readonly id: string;
  readonly name: string;
  readonly forgeAccount: string;
}

/** Plays one person of the story, with their own MCP host and browser. */
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

  /** Connects the host, while the person signs in to the MCP server in the browser. */
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
    const { handler, openSignIn } = user;
    const connecting = connectHost({ mcpUrl: p.world.mcpUrl, era: p.era, handler, openSignIn, fetch: p.frames.fetch });
    const signingIn = (async () => {
      await browser.open((await user.signIn).href);
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

  /** Calls a tool that must elicit. */
  start(tool: string, args: Record<string, unknown> = {}): RunningCall {
    const answer = this.#host.callTool(tool, args);
    return new RunningCall({ user: this.#user, answer, posternUrl: this.#world.posternUrl });
  }

  /** Calls a tool that must send a URL, and returns that URL. The call keeps running. */
  async startAndBeAsked(
    tool: string,
    args: Record<string, unknown> = {},
  ): Promise<{ call: RunningCall; page: AskedPage }> {
    const call = this.start(tool, args);
    return { call, page: await call.page() };
  }

  /** Calls a tool that must not elicit. */
  async call(tool: string, args: Record<string, unknown> = {}): Promise<string> {
    const { text, isError } = await within(PATIENCE_MS, 'the result of the tool', this.#host.callTool(tool, args));
    check(!isError, 'the tool returned an error');
    checkEqual(this.#user.open, 0, 'questions meanwhile');
    return text;
  }

  /** Opens a link for the first time. Signs in at Example ID, where this browser already has a session, if the gateway has a sign-in. */
  async arrive({ url, matchCode }: AskedPage, heading: string | RegExp): Promise<void> {
    const { browser } = this;
    await browser.open(url);
    if (this.#world.offers('identity_login')) {
      await browser.follow('Continue to sign-in');
      await browser.read(`${this.role.name} Example`);
    }
    await browser.see(heading);
    await browser.read(matchCode);
  }

  /** Opens a link in a browser that is already signed in. */
  async open({ url, matchCode }: AskedPage, heading: string | RegExp): Promise<void> {
    await this.browser.open(url);
    await this.browser.see(heading);
    await this.browser.read(matchCode);
  }

  /** Accepts, signs in and consents at Code Forge, and returns to the last page. */
  async connectForge(p: { isKnownThere: boolean }): Promise<void> {
    const { browser } = this;
    const forgeHost = new URL(this.#world.codeForge.issuer).host;
    await browser.read(forgeHost);
    await browser.press('Continue');
    if (!p.isKnownThere) await browser.press(`Continue as ${this.role.forgeAccount}`);
    await browser.see('Desk Helper asks for access');
    checkEqual(browser.host, forgeHost, 'host of the consent page');
    await browser.press('Allow');
    await browser.see(/Your .*Code Forge.* account is connected/);
    await browser.read(this.role.forgeAccount);
    checkEqual(browser.host, new URL(this.#world.posternUrl).host, 'host of the last page');
  }

  /** Declines on the page. */
  async decline(): Promise<void> {
    await this.browser.press('Decline');
    await this.browser.see('You declined');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host[Symbol.asyncDispose]();
    await this.browser[Symbol.asyncDispose]();
  }
}
