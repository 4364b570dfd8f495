import { readFileSync, writeFileSync } from 'node:fs';
import { withLimits } from './limits-table.ts';

// Writes the lists of docs/limits.md: node services/gateway/src/write-limits.ts
const file = new URL('../../../docs/limits.md', import.meta.url);
writeFileSync(file, withLimits(readFileSync(file, 'utf8')));
