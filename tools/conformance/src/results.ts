import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckStatus, ConformanceCheck } from './checks.ts';

/** Writes `checks.json`, and what else belongs to the run, where the official suite would. @returns the folder */
export async function saveResults(
  directory: string,
  name: string,
  checks: readonly ConformanceCheck[],
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = join(directory, `${name}-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  await mkdir(folder, { recursive: true });
  for (const [file, text] of Object.entries({ 'checks.json': JSON.stringify(checks, undefined, 2), ...files }))
    await writeFile(join(folder, file), text);
  return folder;
}

export const count = (checks: readonly ConformanceCheck[], status: CheckStatus): number =>
  checks.filter(check => check.status === status).length;

/** One line for each check, without control characters of the peer. */
export function printed(checks: readonly ConformanceCheck[]): string {
  const lines = checks.map(({ id, status, description, errorMessage }) => {
    const reason = errorMessage === undefined ? '' : `\n${' '.repeat(9)}${errorMessage}`;
    return `${status.padEnd(8)} ${id}: ${description}${reason}`;
  });
  return lines.map(line => line.replaceAll(/[^\P{C}\n]/gu, '?')).join('\n');
}
