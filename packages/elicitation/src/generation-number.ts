/**
 * Names what is stored under an id to those who were given it: a token set of a connection, the values of a credential. What is made
 * anew after it was deleted has the same id and counts its generations from one again, so its time is in the number: a late report about
 * the old one does not fit the new one, and later ones have greater numbers. Whole numbers up to 2^53 last for these until the year 2255.
 */
export function generationNumber({ createdAt, generation }: { createdAt: number; generation: number }): number {
  return createdAt * 1000 + generation;
}
