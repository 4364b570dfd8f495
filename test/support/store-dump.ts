import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { dumpRedis } from './redis-dump.ts';
import type { World } from './world-parts.ts';

/** Records of background work, which change at their own time. */
const BACKGROUND = /^(?:feed|outbox cursor|outbox head|count|key age|key ages|key use|refresh count|refresh batch)\b/;

/** Everything in the store of a world, in a deterministic order: see `dumpRedis`. */
export async function dumpStore({ file, redis }: Pick<World, 'file' | 'redis'>): Promise<Record<string, unknown>> {
  if (file === undefined) return await dumpRedis(redis.url);
  return Object.fromEntries(Object.entries(dumpFile(file).records).filter(([key]) => !BACKGROUND.test(key)));
}

/** Changes the records of a file, through its gateway: another process cannot open it. */
export function changeFile({ gateways }: Pick<World, 'gateways'>, sql: string, ...values: (string | number)[]): void {
  const stores = gateways[0]?.deps.stores as unknown as { database: { run(sql: string, ...values: unknown[]): void } };
  stores.database.run(sql, ...values);
}

/** The records of a file that a gateway of this process has open, and the bytes on the disk. */
export function dumpFile(path: string): { readonly records: Record<string, unknown>; readonly bytes: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'postern-dump-'));
  try {
    // By another process: closing a descriptor would release the lock of this one (POSIX).
    const files = ['', '-wal'].map(suffix => path + suffix).filter(existsSync);
    if (files.length === 0) return { records: {}, bytes: Buffer.alloc(0) };
    execFileSync('cp', [...files, folder]);
    const bytes = Buffer.concat(files.map(file => readFileSync(join(folder, basename(file)))));
    const copy = join(folder, basename(path));
    using database = new DatabaseSync(copy);
    const rows = database.prepare('SELECT * FROM records ORDER BY kind, id').all();
    const records = rows.map(({ kind, id, seq: _, ...row }) => [`${kind}:${id}`, row] as const);
    return { records: Object.fromEntries(records), bytes };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
