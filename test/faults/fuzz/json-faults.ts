import fc from 'fast-check';
import { brokenJson, MARKUP, oddJson, oddText, unwrittenJson } from '../../support/hostile-values.ts';

/** JSON with exactly one defect. */
export interface JsonFaults {
  /** Cannot be valid under a schema without unknown members. A value of another type may be valid where the schema has alternatives. */
  readonly refused: fc.Arbitrary<string>;
  /** Any member replaced by any value, which may be valid by chance. */
  readonly odd: fc.Arbitrary<string>;
}

type Path = readonly string[];
const badTexts = ['', '\0', 'a\u202eb', '\ud800', 'a\nb', '\u{e0041}', 'x'.repeat(9000)].map(text =>
  JSON.stringify(text),
);
const badNumbers = [-1, 1.5, 2 ** 53, 1e308, -(2 ** 31)].map(number => JSON.stringify(number));
const unknownNames = ['unknown member', '__proto__', 'constructor', 'toString', 'kind ', '', '\0', MARKUP];
/** Bodies that count as absent. */
const isEmpty = (json: string) => ['', 'null', '{}'].includes(json.trim());
const HOLE = 'hole-for-something-else';
const broken = fc.constantFrom(...brokenJson);
const known = new Map<string, JsonFaults>();

/** Cuts out every place once, so that each variant only joins strings. */
export function jsonFaults(json: string, isValid: (json: string) => boolean = () => false): JsonFaults {
  const made = known.get(json) ?? makeFaults(json, isValid);
  if (known.size > 200) known.clear();
  known.set(json, made);
  return made;
}

function makeFaults(json: string, isValid: (json: string) => boolean): JsonFaults {
  const valid: unknown = JSON.parse(json);
  const everyHole = [...pathsOf(valid)].map(([path, type]) => {
    const [before = '', after = ''] = JSON.stringify(withHole(valid, path)).split(`"${HOLE}"`);
    return { before, after, type };
  });
  const leaves = everyHole.filter(({ type }) => type !== 'object' && type !== 'array');
  type Hole = (typeof everyHole)[number];
  const filled = (arbitrary: fc.Arbitrary<string>, holes: readonly Hole[] = leaves) =>
    holes.length === 0
      ? []
      : [fc.tuple(fc.constantFrom(...holes), arbitrary).map(([{ before, after }, value]) => before + value + after)];
  const mistyped = fc
    .tuple(fc.constantFrom(...everyHole), oddJson)
    // A value of the same type may be valid. Objects and lists are covered by their own members.
    .filter(([{ type }, value]) => typeOfJson(value) !== type)
    // A list without its only member is an empty list, which is valid JSON.
    .filter(([{ before, after }, value]) => value.trim() !== '' || !(before.endsWith('[') && after.startsWith(']')))
    .map(([{ before, after }, value]) => before + value + after);
  const ofType = (type: JsonType) => leaves.filter(hole => hole.type === type);
  const wrong = fc
    .oneof(
      { weight: 3, arbitrary: mistyped },
      ...filled(fc.constantFrom(...badTexts), ofType('string')),
      ...filled(fc.constantFrom(...badNumbers), ofType('number')),
      ...filled(fc.constantFrom(...unwrittenJson)),
    )
    .filter(text => !isEmpty(text) && !isValid(text));
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
          { weight: 4, arbitrary: wrong },
          inserted(fc.constantFrom(...unknownNames).map(name => JSON.stringify(name))),
          ...filled(broken),
          ...(doubled.length === 0 ? [] : [fc.constantFrom(...doubled)]),
          cut,
        )
      : broken,
    odd: fc.oneof(
      ...filled(oddJson).map(arbitrary => ({ weight: 8, arbitrary })),
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

type JsonType = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null' | 'none';

function typeOfJson(json: string): JsonType {
  const [first = ''] = json.trimStart();
  const types: Readonly<Record<string, JsonType>> = {
    '{': 'object',
    '[': 'array',
    '"': 'string',
    t: 'boolean',
    f: 'boolean',
    n: 'null',
  };
  return types[first] ?? (/[-0-9]/.test(first) ? 'number' : 'none');
}

/** Paths of all values in a value, including itself and its objects and lists. */
function* pathsOf(value: unknown, at: Path = []): Generator<readonly [Path, JsonType]> {
  yield [at, typeOfJson(JSON.stringify(value))];
  if (typeof value === 'object' && value !== null)
    for (const [name, child] of Object.entries(value)) yield* pathsOf(child, [...at, name]);
}

function withHole(value: unknown, [name, ...rest]: Path): unknown {
  if (name === undefined) return HOLE;
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === name ? withHole(item, rest) : item));
  const members = Object.entries(value as Record<string, unknown>);
  return Object.fromEntries(members.map(([key, child]) => [key, key === name ? withHole(child, rest) : child]));
}

/** Returns whether this position is inside a string. */
function isInText(json: string, at: number): boolean {
  const quotes = json.slice(0, at).match(/(?<!\\)"/g)?.length ?? 0;
  return quotes % 2 === 1;
}
