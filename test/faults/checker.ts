import { checkAnnouncements } from './checks/announcements.ts';
import { checkBoundaries } from './checks/boundaries.ts';
import { checkEndings } from './checks/endings.ts';
import { type CheckedHistory, indexed } from './checks/indexed.ts';
import { checkOnceOnly } from './checks/once-only.ts';
import type { Found, Violation } from './checks/violation.ts';
import type { HistoryEntry } from './history-entry.ts';

const checks: readonly ((history: CheckedHistory) => Found[])[] = [
  checkEndings,
  checkAnnouncements,
  checkOnceOnly,
  checkBoundaries,
];

/** Returns all violations of the invariants in a history. */
export function check(entries: readonly HistoryEntry[]): Violation[] {
  const history = indexed(entries);
  const documented = new Set(history.of('tolerated').flatMap(({ invariants }) => invariants));
  return checks.flatMap(find => find(history)).map(found => ({ ...found, tolerated: documented.has(found.invariant) }));
}
