import { statSync } from 'node:fs';
import { isOpenToOthers } from '@postern/api/local';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { type Finding, failed, ok, warning } from './findings.ts';

const DAY_MS = 24 * 3_600_000;
/** Age in days after which a key should be replaced. */
const OLD_DAYS = 730;
/** Milliseconds. The tolerance of the gateway for tokens of others. */
const MAX_LEAD_MS = 30_000;

/**
 * Checks the files that the configuration refers to: only the user of the gateway should read them, and keys should not be old.
 * @param paths of the `${file:…}` references
 */
export function checkKeyFiles(
  paths: readonly string[],
  now: () => number,
  platform = process.platform,
): readonly Finding[] {
  const findings: Finding[] = [];
  for (const path of paths) {
    const { mode, mtimeMs } = statSync(path);
    const days = Math.floor((now() - mtimeMs) / DAY_MS);
    if (isOpenToOthers({ mode }, { platform })) {
      const octal = (mode & 0o777).toString(8).padStart(4, '0');
      findings.push(
        warning('files', `Other users of this machine may open ${path} (mode ${octal}). Run: chmod 600 ${path}`),
      );
    } else if (days > OLD_DAYS) {
      findings.push(
        warning('files', `${path} was last replaced ${days} days ago. docs/operators.md explains how to rotate keys.`),
      );
    }
  }
  if (findings.length > 0) return findings;
  return platform === 'win32'
    ? [ok('files', 'The files that the configuration refers to exist. On Windows, see yourself who may read them.')]
    : [ok('files', 'Only the owner may read the files that the configuration refers to.')];
}

/** Describes the keys in use by their names. */
export function checkKeys({ vault, receipts }: GatewayConfig): readonly Finding[] {
  const [current, ...older] = vault.keys.map(({ kid }) => kid);
  const retired = older.length === 0 ? '' : ` Still configured: ${older.join(', ')}. Run: postern vault status`;
  const signing = receipts.keys?.[0]?.kid;
  return [
    ok('vault.keys', `The gateway seals with ${current}.${retired}`),
    ok('receipts.keys', signing === undefined ? 'Derived from the vault keys.' : `The gateway signs with ${signing}.`),
  ];
}

/** Compares the clocks of others with the clock of this machine. @param leads milliseconds by which each is ahead, by name */
export function checkClock(leads: ReadonlyMap<string, number>): readonly Finding[] {
  if (leads.size === 0) return [warning('clock', 'No other clock could be read.')];
  const wrong = [...leads].filter(([, leadMs]) => Math.abs(leadMs) > MAX_LEAD_MS);
  if (wrong.length === 0) return [ok('clock', `Agrees with ${[...leads.keys()].join(', ')}.`)];
  const list = wrong.map(([name, leadMs]) => `${name} by ${Math.round(leadMs / 1_000)} s`).join(', ');
  const message = `The clock of this machine differs from ${list}. Synchronize it (NTP).`;
  return [wrong.length === leads.size ? failed('clock', message) : warning('clock', message)];
}
