import type { Readable, Writable } from 'node:stream';
import { type Clock, systemClock } from '../clock.ts';
import type {
  CompletionPrompt,
  ElicitationAnswer,
  ElicitationContext,
  ElicitationHandler,
  ElicitationRequest,
  UrlElicitation,
} from '../elicitation.ts';
import { inertLine, inertLines } from '../inert.ts';
import { inspectUrl } from '../url/inspect-url.ts';
import { type OpenUrl, systemBrowser } from '../url/open-in-browser.ts';
import { FormDialogue } from './form-dialogue.ts';
import { PlainConsole } from './plain-console.ts';
import { urlLines } from './url-text.ts';

export interface TerminalOptions {
  /** Default: standard input and output. */
  readonly input?: Readable;
  readonly output?: Writable & { isTTY?: boolean };
  /** Whether to highlight the domain with escape sequences. Default: true on a terminal without `NO_COLOR`. */
  readonly colour?: boolean;
  /** Called only with URLs that the user has consented to. Default: opens the system browser. */
  readonly openUrl?: OpenUrl;
  /** Timeout of one question, after which the answer is `cancel`. Default: 10 minutes. */
  readonly answerWithinMs?: number;
  readonly clock?: Clock;
}

/** The user at a terminal. */
export interface Terminal extends Disposable {
  readonly handler: ElicitationHandler;
  /** For {@link HostOptions.completionPrompt}. */
  readonly completionPrompt: CompletionPrompt;
  /** Prints one line of status. Untrusted text must be made inert first. */
  tell(...texts: readonly string[]): void;
  /** Returns one answer, trimmed, or undefined when the input ends or `signal` aborts. Runs after pending elicitations. */
  ask(question: string, signal?: AbortSignal): Promise<string | undefined>;
  close(): void;
}

/**
 * Creates a line-based dialogue that works with screen readers and pipes. Text of MCP servers is quoted: it can neither move
 * the cursor nor imitate the host's own text. Handles one elicitation at a time.
 */
export function createTerminal(options: TerminalOptions = {}): Terminal {
  const { input = process.stdin, output = process.stdout, clock = systemClock, answerWithinMs = 10 * 60_000 } = options;
  const { colour = output.isTTY === true && !process.env['NO_COLOR'], openUrl = systemBrowser() } = options;
  const lines = new PlainConsole({ input, output });
  const never = new AbortController().signal;

  const handler: ElicitationHandler = (request, context) =>
    lines.exclusively(async () => {
      if (context.signal.aborted || lines.ended.aborted) return { action: 'cancel' };
      const over = new AbortController();
      const late = new AbortController();
      void clock.wait(answerWithinMs, over.signal).then(() => {
        if (!over.signal.aborted) late.abort();
      });
      try {
        const signal = AbortSignal.any([context.signal, late.signal]);
        lines.tell(...opening(request, context));
        const answer =
          request.mode === 'url' ? await askUrl(request, signal) : await new FormDialogue(lines, request, signal).run();
        lines.tell(
          closing(answer, { isLate: late.signal.aborted, isGone: context.signal.aborted, mode: request.mode }),
        );
        return answer;
      } finally {
        over.abort();
      }
    });

  async function askUrl(request: UrlElicitation, signal: AbortSignal): Promise<ElicitationAnswer> {
    const url = inspectUrl(request.url);
    if (url === undefined) {
      lines.tell('The address is not one that a browser can open safely, so it is not opened.');
      return { action: 'decline', by: 'policy' };
    }
    lines.tell(...urlLines(url, { colour }));
    for (;;) {
      const line = await lines.ask('Open it in your browser? y = open, n = decline, c = cancel: ', signal);
      if (line === undefined || /^:?c(?:ancel)?$/i.test(line)) return { action: 'cancel' };
      if (/^(?:no?|:?d(?:ecline)?)$/i.test(line)) return { action: 'decline' };
      if (/^y(?:es)?$/i.test(line)) break;
    }
    if (!(await openUrl(url.href)))
      lines.tell('No browser could be started from here. Please open the address yourself.');
    return { action: 'accept' };
  }

  const completionPrompt: CompletionPrompt = (awaited, signal) =>
    lines.exclusively(async () => {
      if (awaited.attempt > 1) lines.tell('The MCP server says that it is not finished in the browser yet.');
      for (;;) {
        const line = await lines.ask('Waiting for the browser. Enter = it is done, go on; c = give up: ', signal);
        if (line === undefined) return undefined;
        if (/^:?c(?:ancel)?$/i.test(line)) return 'cancel';
        if (line === '' || /^(?:y(?:es)?|done)$/i.test(line)) return 'done';
      }
    });

  return {
    handler,
    completionPrompt,
    tell: (...texts) => lines.tell(...texts),
    ask: (question, signal = never) => lines.exclusively(() => lines.ask(question, signal)),
    close: () => lines.close(),
    [Symbol.dispose]: () => lines.close(),
  };
}

function opening(request: ElicitationRequest, { mcpServer, toolName }: ElicitationContext): readonly string[] {
  const where = mcpServer.url === undefined ? '' : ` at ${inertLine(mcpServer.url, 200)}`;
  const claimed = inertLine(mcpServer.claimedName ?? '', 80);
  const what = request.mode === 'url' ? 'asks you to open a page' : 'asks you to fill in a form';
  const words = inertLines(request.message, { maxLines: 20, maxLength: 500 });
  return [
    '',
    `The MCP server ${inertLine(mcpServer.id, 80)}${where} ${what}.`,
    ...(claimed === '' ? [] : [`  It calls itself: “${claimed}”`]),
    ...(toolName === undefined ? [] : [`  For the tool: ${inertLine(toolName, 80)}`]),
    ...(words.length === 0 ? ['  It gives no reason.'] : ['  It says:', ...words.map(line => `    | ${line}`)]),
  ];
}

function closing({ action }: ElicitationAnswer, p: { isLate: boolean; isGone: boolean; mode: 'form' | 'url' }): string {
  if (p.isGone) return 'The MCP server no longer waits for an answer.';
  if (p.isLate) return 'No answer in time: cancelled.';
  if (action === 'accept') return p.mode === 'url' ? 'Go on in the browser.' : 'Sending it.';
  return action === 'decline' ? 'Declined.' : 'Cancelled.';
}
