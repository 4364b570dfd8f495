import { expect } from 'vitest';
import type { Elicitation } from '../elicitation.ts';
import { newElicitationId, shardOf, systemEntropy } from '../ids.ts';
import { approval, person, type Sample, shown } from './kind-bench.ts';
import { alice } from './samples.ts';
import type { createServiceBench } from './service-bench.ts';

type Bench = Pick<ReturnType<typeof createServiceBench>, 'service' | 'allAnnounced' | 'audited'>;

export const unknownId = newElicitationId(shardOf(alice), systemEntropy);
export const approve = ({ service }: Bench, { elicitationId }: Elicitation, sample: Sample, visitor = person) =>
  service.approve(elicitationId, visitor, { shown: shown(sample), approval });

/** Expects a refusal that leaves no trace in record, events or audit lines. */
export async function expectUnchanged(
  bench: Bench,
  before: Elicitation,
  call: () => Promise<unknown>,
  refusal: object,
) {
  const announced = (await bench.allAnnounced()).length;
  const audits = await bench.audited(() => expect(call()).rejects.toMatchObject(refusal));
  expect(audits.filter(({ type }) => type !== 'wrong_person')).toEqual([]);
  expect(await bench.allAnnounced()).toHaveLength(announced);
  expect(await bench.service.find(before.elicitationId)).toEqual(before);
}
