import type { Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { Network } from '../platform/store/network.ts';

/** The parts of a process that commands work on. */
export interface HeldStore {
  readonly vault: Vault;
  readonly stores: Stores;
  readonly config: GatewayConfig;
  readonly pseudonym: Pseudonyms;
  /** Undefined without Redis. */
  readonly network: Network | undefined;
}

/** Files of the operator, on whose side the command may not run. */
export interface CliFiles {
  /** Returns the trimmed text of a small file. `-` is standard input. @throws CliError, UsageError */
  read(path: string): Promise<string>;
  /** Creates an empty file that only its owner can read, and returns how to write to it. @throws CliError */
  create(path: string): Promise<(text: string) => Promise<void>>;
}

/** Environment and streams of a command. Tests pass their own. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results. `runCli` escapes control characters here and in `err`. */
  readonly out: (text: string) => void;
  /** Notes, progress and errors. */
  readonly err: (text: string) => void;
  /** Whether `err` is a terminal, which can redraw a line. */
  readonly isTerminal: boolean;
  /** Aborted when the operator interrupts the command. */
  readonly signal: AbortSignal;
  /** Aborted when the reader of the results has gone, as behind `| head`. */
  readonly unread?: AbortSignal;
  /** Asks the operator one question. Undefined if standard input is not a terminal; resolves with undefined if the input ends. */
  readonly ask?: (question: string) => Promise<string | undefined>;
  /** Default: files of this process. */
  readonly files?: CliFiles;
  /** The stores of the gateway in whose process the command runs. */
  readonly store?: HeldStore;
}

/** Thrown when a command cannot be carried out. The message is for the operator. */
export class CliError extends Error {
  override name = 'CliError';
}

/** Thrown when the arguments are not those of a command. The message is for the operator. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export const exitCodes = { ok: 0, failure: 1, usage: 2, interrupted: 130 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The members that a text shows: those with a value. */
export const membersOf = (of: object): readonly (readonly [name: string, value: unknown])[] =>
  Object.entries(of).filter(([, value]) => value !== undefined);

/** Formats a table with aligned columns. Numbers are right-aligned. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map(row => row[at]?.length ?? 0)));
  const isNumeric = head.map((_, at) => rows.length > 0 && rows.every(row => /^\d+$/.test(row[at] ?? '')));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (isNumeric[at] === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}

export const counted = (count: number, noun: string, plural = `${noun}s`) => `${count} ${count === 1 ? noun : plural}`;

/** Escapes control and invisible characters except line feeds, as JSON does, because parts of the text come from MCP servers and users. */
export function printable(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(/[^\P{C}\n]|[\u2028\u2029]/gu, found => found.split('').map(escaped).join(''));
}

/** Undefined for a text that is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Width of a bar. */
const WIDTH = 30;
/** Without a terminal, prints a line per step, in percent. */
const PLAIN_STEP = 10;
/** Without a terminal and without a known total, prints a line per so many items. */
const PLAIN_ITEMS = 1_000;

/** Shows progress on standard error: one line that is redrawn on a terminal, otherwise a few plain lines. */
export function createProgress(io: Pick<CliIo, 'err' | 'isTerminal'>) {
  let shown: number | undefined;
  return {
    /** Of a known total: a bar. */
    at(done: number, total: number): void {
      const percent = total === 0 ? 100 : Math.min(100, Math.floor((done / total) * 100));
      const step = io.isTerminal ? percent : Math.floor(percent / PLAIN_STEP) * PLAIN_STEP;
      if (step === shown) return;
      shown = step;
      const filled = Math.round((percent / 100) * WIDTH);
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
      if (io.isTerminal) io.err(`\r${bar} ${String(percent).padStart(3)} %  ${done} of ${total}`);
      else io.err(`${percent} %  ${done} of ${total}\n`);
    },
    /** Without a known total: counts. */
    count(text: string, items: number): void {
      const step = io.isTerminal ? items : Math.floor(items / PLAIN_ITEMS);
      if (step === (shown ?? 0)) return;
      shown = step;
      io.err(io.isTerminal ? `\r${text}` : `${text}\n`);
    },
    /** Ends the redrawn line. */
    end(): void {
      if (io.isTerminal && shown !== undefined) io.err('\n');
    },
  };
}
