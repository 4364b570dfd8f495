import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod/v4';
import { readPrivateFile, unusable } from './private-files.ts';
import type { System } from './system.ts';

/** Written beside the store by the gateway that holds it: where it listens, and the key that its callers must know. */
export const linkFileOf = (storeFile: string): string => `${storeFile}.local`;

const linkSchema = z.object({
  socket: z.string().min(1).max(200),
  key: z.string().min(32).max(100),
  /** Of the gateway: it names a gateway that does not answer. */
  pid: z.int().optional(),
});
export type LocalLink = z.infer<typeof linkSchema>;

/** Undefined if no gateway has the store. It may have been killed since. @throws LocalError `not_private` */
export function readLink(storeFile: string, system: System): LocalLink | undefined {
  const text = readPrivateFile(linkFileOf(storeFile), system);
  if (text === undefined) return undefined;
  try {
    return linkSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** As one step for its readers. @throws LocalError `not_private` */
export function writeLink(storeFile: string, link: LocalLink): void {
  const file = linkFileOf(storeFile);
  const temporary = `${file}.${process.pid}`;
  rmSync(temporary, { force: true });
  try {
    writeFileSync(temporary, JSON.stringify(link), { mode: 0o600, flag: 'wx' });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw unusable(file, error);
  }
}
