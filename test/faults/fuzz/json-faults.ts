import fc from 'fast-check';
import { brokenJson } from '../../support/hostile-values.ts';
import { oddJson, oddText } from './odd-values.ts';

/** JSON with exactly one thing wrong. */
export interface JsonFaults {
  /** Cannot be valid, whatever the schema is, as long as it takes no unknown members. */
  readonly refused: fc.Arbitrary<string>;
  /** Any member replaced by anything: now and then by something that is valid too. */
  readonly odd: fc.Arbitrary<string>;
}

type Path = readonly string[];
const HOLE = 'hole-for-something-else';
const broken = fc.constantFrom(...brokenJson);
const known = new Map<string, JsonFaults>();

/** Every place is cut out once; what is put there later costs nothing but the joining of texts. */
export function jsonFaults(json: string): JsonFaults {
  const made = known.get(json) ?? makeFaults(json);
  if (known.size > 200) known.clear();
  known.set(json, made);
  return made;
}

function makeFaults(json: string): JsonFaults {
  const valid: unknown = JSON.parse(json);
  const holes = pathsOf(valid).map(path => {
    const [before = '', after = ''] = JSON.stringify(withHole(valid, path)).split(`"${HOLE}"`);
    return [before, after] as const;
  });
  const filled = (arbitrary: fc.Arbitrary<string>) =>
    fc.tuple(fc.constantFrom(...holes), arbitrary).map(([[before, after], value]) => before + value + after);
  const inserts = [...json.matchAll(/\{/g)].map(({ index }) => index + 1).filter(at => !isInText(json, at - 1));
  const separator = (at: number) => (json[at] === '}' ? '' : ',');
  const inserted = (names: fc.Arbitrary<string>) =>
    fc
      .tuple(fc.constantFrom(...(inserts.length === 0 ? [0] : inserts)), names, oddJson)
      .map(([at, name, value]) => `${json.slice(0, at)}${name}:${value}${separator(at)}${json.slice(at)}`);
  const members = typeof valid === 'object' && valid !== null ? Object.entries(valid) : [];
  const doubled = members.map(([name, value]) => `{${JSON.stringify(name)}:${JSON.stringify(value)},${json.slice(1)}`);
  const cut = fc.nat({ max: Math.max(0, json.length - 2) }).map(length => json.slice(0, length + 1));
  const isObject = json.startsWith('{');
  return {
    refused: isObject
      ? fc.oneof(
          inserted(fc.constantFrom('"unknown member"', '"__proto__"', '"constructor"', '"kind "')),
          filled(broken),
          ...(doubled.length === 0 ? [] : [fc.constantFrom(...doubled)]),
          cut,
        )
      : broken,
    odd: fc.oneof(
      { weight: 8, arbitrary: filled(oddJson) },
      { weight: 2, arbitrary: inserted(oddText.map(text => JSON.stringify(text))) },
      { weight: 1, arbitrary: oddJson },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.nat({ max: json.length - 1 }), fc.constantFrom(...'"\\{}[],:0e\0\u0080x'))
          .map(([at, by]) => json.slice(0, at) + by + json.slice(at + 1)),
      },
    ),
  };
}

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([name, child]) => pathsOf(child, [...at, name]))];
}

function withHole(value: unknown, [name, ...rest]: Path): unknown {
  if (name === undefined) return HOLE;
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === name ? withHole(item, rest) : item));
  const members = Object.entries(value as Record<string, unknown>);
  return Object.fromEntries(members.map(([key, child]) => [key, key === name ? withHole(child, rest) : child]));
}

/** Whether what stands there stands inside a string. */
function isInText(json: string, at: number): boolean {
  const quotes = json.slice(0, at).match(/(?<!\\)"/g)?.length ?? 0;
  return quotes % 2 === 1;
}
