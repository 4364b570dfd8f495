/** What a command has of the world around it; tests hand in their own. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results. */
  readonly out: (text: string) => void;
  /** Notes, progress and faults. */
  readonly err: (text: string) => void;
  /** Whether somebody watches `err` on a terminal, which can redraw a line. */
  readonly isTerminal: boolean;
  /** Aborted when the operator wants the command to stop. */
  readonly signal: AbortSignal;
}

/** The command was used wrongly, or cannot be carried out as things stand. The message is for the operator. */
export class CliError extends Error {
  override name = 'CliError';
}

export const exitCodes = { fine: 0, trouble: 1, misuse: 2, interrupted: 130 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
