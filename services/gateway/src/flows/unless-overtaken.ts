import { DomainError } from '@postern/elicitation';

/** Another move, a decision or the time came first: the stored status is the truth, and its page shows it. */
export function isOvertaken(error: unknown): boolean {
  return error instanceof DomainError && (error.code === 'already_ended' || error.code === 'illegal_transition');
}

/** Runs a move whose attempt may have been overtaken. */
export async function unlessOvertaken(move: Promise<unknown>): Promise<void> {
  try {
    await move;
  } catch (error) {
    if (!isOvertaken(error)) throw error;
  }
}
