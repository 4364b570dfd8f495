/** Checks a recorded history again: `node test/faults/check-history.ts FILE`. */
import { readFileSync } from 'node:fs';
import { check } from './checker.ts';
import { parseHistory } from './history-entry.ts';

const [path] = process.argv.slice(2);
if (path === undefined) {
  console.error('usage: node test/faults/check-history.ts FILE');
  process.exit(2);
}
const entries = parseHistory(readFileSync(path, 'utf8'));
const violations = check(entries);
for (const { invariant, elicitationId = '', message, tolerated } of violations)
  console.log(`${invariant}${tolerated ? ' (documented)' : ''} ${elicitationId} ${message}`);
console.log(`${entries.length} entries, ${violations.length} violations`);
process.exit(violations.some(({ tolerated }) => !tolerated) ? 1 : 0);
