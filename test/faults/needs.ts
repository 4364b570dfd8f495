import { existsSync } from 'node:fs';
import { hasChromium } from '@postern/testkit/chromium';
import type { Need } from './scenario.ts';
import { whyNoNamespaces } from './support/namespaces.ts';

export const faketimeLibrary = (): string | undefined =>
  ['x86_64-linux-gnu', 'aarch64-linux-gnu']
    .map(machine => `/usr/lib/${machine}/faketime/libfaketime.so.1`)
    .find(path => existsSync(path));

const unless = (isThere: boolean, reason: string) => (isThere ? undefined : reason);

/** Describes why this need cannot be met here; undefined if it can. */
const checks: Record<Need, () => string | undefined | Promise<string | undefined>> = {
  namespaces: whyNoNamespaces,
  chromium: () => unless(hasChromium(), 'the Debian package chromium-headless-shell is missing'),
  faketime: () => unless(faketimeLibrary() !== undefined, 'the Debian package libfaketime is missing'),
};

/** Describes which needs cannot be met here. */
export async function missingNeeds(needs: readonly Need[]): Promise<string[]> {
  const reasons = await Promise.all(needs.map(need => checks[need]()));
  return reasons.filter(reason => reason !== undefined);
}
