import { causesOf, GatewayError, PosternUsageError, SubjectUnavailableError } from './errors.ts';

/**
 * The MCP server's code or registration has a mistake. MCP SDKs turn what a handler throws into text for the model, so this copy for
 * `onBackgroundError` is what the author sees.
 */
export class ProgrammingError extends Error {
  override readonly name = 'ProgrammingError';
  /** The tool, or the function of this package. */
  readonly where: string;
  /** `code` of an error of this package, otherwise the name of the error's class. */
  readonly code: string;

  constructor(where: string, code: string, text: string, frames: readonly string[]) {
    super(text.startsWith(where) ? text : `${where}: ${text}`);
    this.where = where;
    this.code = code;
    this.stack = [`${this.name}: ${this.message}`, ...frames].join('\n');
  }
}

export interface Reporter {
  /** Reports a failure outside any request, unless it was reported as a mistake. Never throws. */
  readonly onBackgroundError: (error: Error) => void;
  /** Reports what was thrown, if it or a cause of it is a mistake: once per kind and minute. Never throws. */
  readonly reportMistake: (thrown: unknown, where: string, isOne?: (error: Error) => boolean) => void;
}

const WINDOW_MS = 60_000;
/** Maximum number of kinds in that time. */
const MAX_KINDS = 100;
const MAX_FRAMES = 5;

/** @param receive the option `onBackgroundError` */
export function createReporter(receive: (error: Error) => unknown = print, now: () => number = Date.now): Reporter {
  const reported = new WeakSet<Error>();
  const kinds = new Map<string, number>();

  function isNew(kind: string): boolean {
    const time = now();
    for (const [known, at] of kinds) if (at <= time - WINDOW_MS) kinds.delete(known);
    if (kinds.has(kind) || kinds.size >= MAX_KINDS) return false;
    kinds.set(kind, time);
    return true;
  }

  async function deliver(error: Error): Promise<void> {
    try {
      await receive(error);
    } catch (failure) {
      print(new TypeError(`onBackgroundError has thrown ${failure instanceof Error ? failure.name : typeof failure}.`));
    }
  }

  return {
    onBackgroundError(error) {
      if (!reported.has(error)) void deliver(error);
    },
    reportMistake(thrown, where, isOne = isMistake) {
      const errors = [...causesOf(thrown)];
      const mistake = errors.find(isOne);
      if (mistake === undefined || errors.some(error => reported.has(error))) return;
      for (const error of errors) reported.add(error);
      const [code, text] = described(mistake);
      const frames = framesOf(mistake);
      // Numbers and quoted values differ from call to call.
      if (isNew([where, code, text.replace(/"[^"]*"|\d+/g, '#'), frames[0]].join(' ')))
        void deliver(new ProgrammingError(where, code, text, frames));
    },
  };
}

/** Refusals with a status of the caller's fault that are not one: users and processors decide these. */
const DECIDED_BY_OTHERS: ReadonlySet<GatewayError['code']> = new Set([
  ...(['muted', 'wrong_person', 'daily_limit_reached'] as const),
  ...(['refund_exceeds_payment', 'refund_not_possible'] as const),
]);
const CALLER_AT_FAULT: ReadonlySet<number | undefined> = new Set([400, 401, 403, 413, 415, 422]);

/** Errors of the language show a wrong program. Those with a cause report a failure of something else, such as `fetch failed`. */
export function isMistake(error: Error): boolean {
  if (error instanceof GatewayError) return CALLER_AT_FAULT.has(error.httpStatus) && !DECIDED_BY_OTHERS.has(error.code);
  if (error instanceof PosternUsageError || error instanceof SubjectUnavailableError) return true;
  const isOfLanguage = [TypeError, ReferenceError, RangeError, SyntaxError].some(kind => error instanceof kind);
  return isOfLanguage && error.cause === undefined;
}

/** Messages of the engine that name only what the code itself says. */
const OF_CODE =
  /^(?:[\w$.]{1,80}(?:\(\.{3}\)[\w$.]{0,80})? is not (?:a function|a constructor|defined|iterable)|Cannot (?:read|set) properties of (?:undefined|null) \((?:reading|setting) '[A-Za-z_$]\w{0,40}'\)|Cannot destructure property '\w{1,40}' of '[\w$.]{1,80}' as it is (?:undefined|null)\.)$/;

/**
 * Reports end in logs. Messages of this package quote no secret and nothing that a user has typed; the terms of an ask are the furthest
 * that they go. Messages of other errors may quote anything: `JSON.parse` quotes the text, `new URL` the address. Of these, only the class
 * and the lines of code are reported, and the engine's message about a name in the code.
 */
function described(error: Error): readonly [code: string, text: string] {
  if (error instanceof PosternUsageError || error instanceof SubjectUnavailableError)
    return [error.code, `${error.message} (${error.code})`];
  if (error instanceof GatewayError) return [error.code, `${error.explanation} (${error.code})`];
  const { name } = error.constructor;
  return [
    name,
    OF_CODE.test(error.message) ? error.message : `threw ${name}. Its message may quote data of users and is left out`,
  ];
}

/** The lines of the stack below the message. None if the message has changed since: the stack would still have the old one. */
function framesOf({ message, stack = '' }: Error): string[] {
  const start = message === '' ? 0 : stack.indexOf(message);
  if (start < 0) return [];
  const below = message === '' ? stack.slice(stack.indexOf('\n')) : stack.slice(start + message.length);
  const [frames = ''] = /^(?:\n {4}at [^\n]+)+/.exec(below) ?? [];
  return frames.split('\n').slice(1, MAX_FRAMES + 1);
}

function print(error: Error): void {
  // biome-ignore lint/suspicious/noConsole: the default of the option `onBackgroundError`, on the standard error of the MCP server.
  console.error(error instanceof ProgrammingError ? error.stack : `${error.name}: ${error.message}`);
}
