import type { z } from 'zod';
import { hasReference } from './interpolate.ts';

const NUMBER = /^-?\d+(?:\.\d+)?$/;

type Path = readonly PropertyKey[];

/**
 * A copy of the document with a number at every place where a number is missing and a reference has led to one: whatever an
 * environment variable holds is a text. Undefined where there is no such place.
 */
export function withNumbers(
  document: unknown,
  asWritten: unknown,
  issues: readonly z.core.$ZodIssue[],
): object | undefined {
  const places = issues.flatMap(issue => {
    const [written, text] = [valueAt(asWritten, issue.path), valueAt(document, issue.path)];
    const isReferred = typeof written === 'string' && hasReference(written);
    if (!isReferred || !wantsNumber(issue) || typeof text !== 'string' || !NUMBER.test(text)) return [];
    return [{ path: issue.path, value: Number(text) }];
  });
  if (places.length === 0) return undefined;
  const copy: object = structuredClone(Object(document));
  for (const { path, value } of places) {
    const holder = valueAt(copy, path.slice(0, -1));
    const member = path.at(-1);
    if (typeof holder === 'object' && holder !== null && member !== undefined) Reflect.set(holder, member, value);
  }
  return copy;
}

function wantsNumber(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'invalid_type') return issue.expected === 'number' || issue.expected === 'int';
  return issue.code === 'invalid_value' && issue.values.some(value => typeof value === 'number');
}

function valueAt(node: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined),
    node,
  );
}
