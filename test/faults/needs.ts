import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Need } from './scenario.ts';

const works = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;

export const faketimeLibrary = (): string | undefined =>
  ['x86_64-linux-gnu', 'aarch64-linux-gnu']
    .map(machine => `/usr/lib/${machine}/faketime/libfaketime.so.1`)
    .find(path => existsSync(path));

const checks: Record<Need, { readonly isThere: () => boolean; readonly wanted: string }> = {
  namespaces: {
    isThere: () => process.getuid?.() === 0 && works('ip', 'netns', 'list') && works('unshare', '-n', 'true'),
    wanted: 'network namespaces: root, and the Debian package iproute2',
  },
  chromium: {
    isThere: () => existsSync(process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'),
    wanted: 'the Debian package chromium',
  },
  faketime: { isThere: () => faketimeLibrary() !== undefined, wanted: 'the Debian package libfaketime' },
};

/** What of it cannot be had here, in words. */
export async function missingNeeds(needs: readonly Need[]): Promise<string[]> {
  return needs.filter(need => !checks[need].isThere()).map(need => `needs ${checks[need].wanted}`);
}
