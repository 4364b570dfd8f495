import { DomainError } from './errors.ts';

/** How often a decision is made again. Enough for any honest race; more means that something is wrong. */
export const MAX_TRIES = 8;

export function contention(): DomainError {
  return new DomainError('contention', 'The elicitation is changing too fast.');
}
