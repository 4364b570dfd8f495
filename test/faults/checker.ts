import { checkAnnouncements } from './checks/announcements.ts';
import { checkBoundaries } from './checks/boundaries.ts';
import { checkEndings } from './checks/endings.ts';
import { type CheckedHistory, indexed } from './checks/indexed.ts';
import { checkOnceOnly } from './checks/once-only.ts';
import type { HistoryEntry } from './history-entry.ts';

/**
 * The invariants of every fault (security: 1).
 * I1 an elicitation that was acknowledged reaches one end; I2 an end never changes; I3 every end is announced, under one event id;
 * I4 one approval, one charge, one token set; I5 no secret outside; I6 nobody sees or moves what is another's.
 * `contract`: an answer that nobody may ever get, whatever is broken.
 */
export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'contract';

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
  readonly elicitationId?: string;
  /** Documented for what the run did: reported, not failed. */
  readonly tolerated: boolean;
}

export type Found = Omit<Violation, 'tolerated'>;

const checks: readonly ((history: CheckedHistory) => Found[])[] = [
  checkEndings,
  checkAnnouncements,
  checkOnceOnly,
  checkBoundaries,
];

/** What contradicts the invariants in what was seen from outside. */
export function check(entries: readonly HistoryEntry[]): Violation[] {
  const history = indexed(entries);
  const documented = new Set(history.of('tolerated').flatMap(({ invariants }) => invariants));
  return checks.flatMap(find => find(history)).map(found => ({ ...found, tolerated: documented.has(found.invariant) }));
}
