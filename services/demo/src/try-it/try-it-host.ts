import { type ElicitationHandler, inertLine, inertLines } from '@postern/host';
import { FrameLog } from '../frame-log.ts';
import { connectHost, type HostConnection } from '../host/connect-host.ts';
import type { TryItStory } from './stories.ts';

/** A line of the conversation: text of the demo itself, or text of a tool, which may contain anything. */
export interface TryItEntry {
  readonly kind: 'call' | 'sign-in' | 'link' | 'result' | 'failure';
  readonly title: string;
  readonly lines: readonly string[];
  readonly href?: string;
}

export interface TryItState {
  readonly entries: readonly TryItEntry[];
  /** MCP messages as sent, cut to one line. */
  readonly messages: readonly string[];
  readonly events: readonly string[];
  /** Secrets that exist by now, and how many of them are in the messages and events. */
  readonly secrets: { readonly known: number; readonly leaked: number };
}

const MOST_LINES = 200;

/** The MCP host behind the page: one person, who signs in with the first call. */
export class TryItHost implements AsyncDisposable {
  readonly #mcpUrl: string;
  readonly #frames: FrameLog;
  readonly #entries: TryItEntry[] = [];
  readonly #events: readonly string[];
  readonly #secrets: () => Iterable<string>;
  #connection: Promise<HostConnection> | undefined;

  constructor(p: { mcpUrl: string; events: readonly string[]; secrets: () => Iterable<string> }) {
    this.#mcpUrl = p.mcpUrl;
    this.#frames = new FrameLog(p.mcpUrl);
    this.#events = p.events;
    this.#secrets = p.secrets;
  }

  /** Calls the tool of a story. The result appears in the state. */
  async start({ title, tool, args }: TryItStory): Promise<void> {
    this.#tell({ kind: 'call', title, lines: [`The model calls ${tool}(${Object.values(args).join(', ')}).`] });
    try {
      const host = await this.#connect();
      const { text, isError } = await host.callTool(tool, args);
      const lines = inertLines(text, { maxLines: 12, maxLength: 300 });
      this.#tell({
        kind: isError ? 'failure' : 'result',
        title: isError ? 'The tool failed' : 'The tool returned',
        lines,
      });
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#tell({ kind: 'failure', title: 'The call failed', lines: [inertLine(error.message)] });
    }
  }

  state(): TryItState {
    const { frames } = this.#frames;
    const known = [...new Set(this.#secrets())];
    const seen = [...frames, ...this.#events].join('\n');
    return {
      entries: this.#entries,
      messages: frames.slice(-MOST_LINES).map(frame => inertLine(frame, 400)),
      events: this.#events.slice(-MOST_LINES).map(event => inertLine(event, 400)),
      secrets: { known: known.length, leaked: known.filter(secret => seen.includes(secret)).length },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const host = await Promise.race([this.#connection?.catch(() => undefined), Promise.resolve(undefined)]);
    await host?.[Symbol.asyncDispose]();
  }

  #tell(entry: TryItEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length > MOST_LINES) this.#entries.shift();
  }

  /** Concurrent calls share one sign-in. A failed one is forgotten, so that the next call starts another. */
  #connect(): Promise<HostConnection> {
    this.#connection ??= connectHost({
      mcpUrl: this.#mcpUrl,
      era: '2026-07-28',
      handler: this.#handler,
      openSignIn: async url => {
        const lines = ['This MCP server wants to know who you are. Choose Alice; there are no passwords.'];
        this.#tell({ kind: 'sign-in', title: 'Sign in to Desk Helper', lines, href: url.href });
        return true;
      },
      fetch: this.#frames.fetch,
    }).catch((error: unknown) => {
      this.#connection = undefined;
      throw error;
    });
    return this.#connection;
  }

  readonly #handler: ElicitationHandler = async request => {
    if (request.mode !== 'url') return { action: 'decline' };
    const lines = inertLines(request.message, { maxLines: 6, maxLength: 300 });
    this.#tell({ kind: 'link', title: 'Open the page of Postern', lines, href: request.url });
    return { action: 'accept' };
  };
}
