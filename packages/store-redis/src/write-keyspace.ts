import { readFileSync, writeFileSync } from 'node:fs';
import { withKeyspaceTable } from './keyspace.ts';

// Writes the table of all keys: node packages/store-redis/src/write-keyspace.ts
const file = new URL('../KEYSPACE.md', import.meta.url);
writeFileSync(file, withKeyspaceTable(readFileSync(file, 'utf8')));
