import { type ElicitationHandler, inertLine, inertLines } from '@postern/host';
import { FrameLog } from '../frame-log.ts';
import { connectHost, type HostConnection } from '../host/connect-host.ts';
import { Ring } from '../ring.ts';
import type { TryItStory } from './stories.ts';

/** A line of the conversation: text of the demo itself, or text of a tool, which may contain anything. */
export interface TryItEntry {
  readonly kind: 'call' | 'sign-in' | 'link' | 'result' | 'failure';
  readonly title: string;
  readonly lines: readonly string[];
  readonly href?: string;
}

/** The newest lines of a log, and the number of all: the log goes on when old lines are dropped. */
interface Log<Line> {
  readonly total: number;
  readonly lines: readonly Line[];
}

export interface TryItState {
  readonly conversation: Log<TryItEntry>;
  /** What the visitor is waiting for, while a call runs. */
  readonly waitingFor: 'sign-in' | 'page' | 'tool' | undefined;
  /** MCP messages as sent, cut to one line. */
  readonly messages: Log<string>;
  readonly events: Log<string>;
  /** Secrets that exist by now, and how many of them are in the messages and events. */
  readonly secrets: { readonly known: number; readonly leaked: number };
}

/** Maximum number of lines that each log keeps. */
export const MOST_LINES = 200;

const waitsFor = { 'sign-in': 'sign-in', link: 'page' } as const;

/** The MCP host behind the page: one person, who signs in with the first call. */
export class TryItHost implements AsyncDisposable {
  readonly #mcpUrl: string;
  readonly #frames: FrameLog;
  readonly #entries = new Ring<TryItEntry>(MOST_LINES);
  readonly #events: Ring<string>;
  readonly #secrets: () => Iterable<string>;
  /** Secrets found so far: a line that contained one may have been dropped since. */
  readonly #leaked = new Set<string>();
  #running = 0;
  #connection: Promise<HostConnection> | undefined;

  constructor(p: { mcpUrl: string; events: Ring<string>; secrets: () => Iterable<string> }) {
    this.#mcpUrl = p.mcpUrl;
    this.#frames = new FrameLog(p.mcpUrl, MOST_LINES);
    this.#events = p.events;
    this.#secrets = p.secrets;
  }

  /** Calls the tool of a story. The result appears in the state. */
  async start({ title, tool, args }: TryItStory): Promise<void> {
    this.#tell({ kind: 'call', title, lines: [`The model calls ${tool}(${Object.values(args).join(', ')}).`] });
    this.#running += 1;
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
    } finally {
      this.#running -= 1;
    }
  }

  state(): TryItState {
    const { frames, total } = this.#frames;
    const events = this.#events.items;
    const known = new Set(this.#secrets());
    const seen = [...frames, ...events].join('\n');
    for (const secret of known) if (seen.includes(secret)) this.#leaked.add(secret);
    return {
      conversation: { total: this.#entries.total, lines: this.#entries.items },
      waitingFor: this.#waitingFor(),
      messages: { total, lines: frames.map(frame => inertLine(frame, 400)) },
      events: { total: this.#events.total, lines: events.map(event => inertLine(event, 400)) },
      secrets: { known: known.size, leaked: this.#leaked.size },
    };
  }

  #waitingFor(): TryItState['waitingFor'] {
    if (this.#running === 0) return undefined;
    const last = this.#entries.items.at(-1)?.kind;
    return last === 'sign-in' || last === 'link' ? waitsFor[last] : 'tool';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const host = await Promise.race([this.#connection?.catch(() => undefined), Promise.resolve(undefined)]);
    await host?.[Symbol.asyncDispose]();
  }

  #tell(entry: TryItEntry): void {
    this.#entries.push(entry);
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
