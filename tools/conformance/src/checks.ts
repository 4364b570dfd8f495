import { type RequirementId, requirements, type SpecReference } from './requirements.ts';
import type { Revision } from './revision.ts';

/** As in the official suite: MUST fails as `FAILURE`, SHOULD as `WARNING`. `SKIPPED` is for what does not apply. */
export type CheckStatus = 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';

/** The members of a check in `checks.json` of the official suite. */
export interface ConformanceCheck {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly status: CheckStatus;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly specReferences: readonly SpecReference[];
  readonly errorMessage?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Collects the checks of one scenario. Every id of the scenario ends up in the list exactly once. */
export interface Checks {
  /** Records a success if `faults` is empty, otherwise a failure or, for a SHOULD, a warning. The first verdict on an id counts. */
  verdict(id: RequirementId, faults: readonly string[], details?: Readonly<Record<string, unknown>>): void;
  /** The requirement does not apply to this implementation, or the caller of the suite left out what the check needs. */
  skip(id: RequirementId, reason: string): void;
  /** @param reason why the ids without a verdict could not be tested. They fail: a gap must not look like a success. */
  finish(reason: string): readonly ConformanceCheck[];
}

export function createChecks(ids: readonly RequirementId[], revision: Revision, now = () => new Date()): Checks {
  const found = new Map<RequirementId, ConformanceCheck>();

  function record(
    id: RequirementId,
    status: CheckStatus,
    rest: Pick<ConformanceCheck, 'errorMessage' | 'details'>,
  ): void {
    if (!ids.includes(id)) throw new TypeError(`${id} is not a check of this scenario`);
    if (found.has(id)) return;
    const { description, references } = requirements[id];
    const name = id.replaceAll(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    const specReferences = references[revision] ?? [];
    found.set(id, { id, name, description, status, timestamp: now().toISOString(), specReferences, ...rest });
  }
  const failed = (id: RequirementId): CheckStatus => (requirements[id].level === 'SHOULD' ? 'WARNING' : 'FAILURE');

  return {
    verdict(id, faults, details) {
      const rest = details === undefined ? {} : { details };
      if (faults.length === 0) record(id, 'SUCCESS', rest);
      else record(id, failed(id), { errorMessage: faults.join('; '), ...rest });
    },
    skip: (id, reason) => record(id, 'SKIPPED', { errorMessage: reason }),
    finish(reason) {
      for (const id of ids)
        record(id, failed(id), { errorMessage: `Not testable: ${reason}`, details: { untestable: true, reason } });
      return ids.flatMap(id => found.get(id) ?? []);
    },
  };
}
