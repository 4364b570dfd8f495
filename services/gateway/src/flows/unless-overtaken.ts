import { DomainError } from '@postern/elicitation';

/** Runs a move whose attempt may have been overtaken; then the stored status is the truth and its page shows it. */
export async function unlessOvertaken(move: Promise<unknown>): Promise<void> {
  try {
    await move;
  } catch (error) {
    if (error instanceof DomainError && (error.code === 'already_ended' || error.code === 'illegal_transition')) return;
    throw error;
  }
}
