import { explanationOf } from '../../platform/start-error.ts';
import { withTimeout } from '../../platform/with-timeout.ts';
import { printable } from '../cli-io.ts';

export type Status = 'ok' | 'warning' | 'failed';

/** One line of the report. The message says what is wrong and what to do, and contains no secret. */
export interface Finding {
  /** Stable id, such as `redis.settings` or `provider.github`. */
  readonly check: string;
  readonly status: Status;
  readonly message: string;
}

export const ok = (check: string, message: string): Finding => ({ check, status: 'ok', message });
export const warning = (check: string, message: string): Finding => ({ check, status: 'warning', message });
export const failed = (check: string, message: string): Finding => ({ check, status: 'failed', message });

/**
 * Runs one check. A check that throws or takes too long is a finding as well, without the message of the error, which may contain
 * secrets.
 */
export async function checked(check: string, limitMs: number, work: () => Promise<readonly Finding[]>) {
  try {
    const late = [failed(check, `No result within ${limitMs / 1_000} seconds.`)];
    return await withTimeout(work(), limitMs, late);
  } catch (error) {
    const explanation = explanationOf(error);
    if (explanation !== undefined) return [failed(check, explanation)];
    return [failed(check, `The check ended unexpectedly (${error instanceof Error ? error.name : typeof error}).`)];
  }
}

/** Formats the report for people: a line per finding. */
export function reportOf(findings: readonly Finding[]): string {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.map(
    ({ check, status, message }) =>
      `${status.padEnd(7)}  ${check.padEnd(width)}  ${printable(message).replaceAll('\n', ' ')}`,
  );
  const count = (status: Status) => findings.filter(finding => finding.status === status).length;
  return `${[...lines, '', `${count('ok')} ok, ${count('warning')} warnings, ${count('failed')} failed`].join('\n')}\n`;
}
