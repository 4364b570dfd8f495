import { DomainError } from './errors.ts';

/**
 * How often a decision is made again. Enough for any honest race, also for as many tool calls at once that each widen what
 * the same person is asked; more means that something is wrong.
 */
export const MAX_TRIES = 32;

export function contention(): DomainError {
  return new DomainError('contention', 'The elicitation is changing too fast.');
}
