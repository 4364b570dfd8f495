import type { Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { Pseudonyms } from '../platform/audit/pseudonyms.ts';
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
