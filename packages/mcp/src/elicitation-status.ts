import { type ElicitationBody, terminalStatuses } from '@postern/api';

const terminal: ReadonlySet<string> = new Set(terminalStatuses);

/** Whether the stored status can never change again. */
export function isTerminal(elicitation: ElicitationBody): boolean {
  return terminal.has(elicitation.status);
}
