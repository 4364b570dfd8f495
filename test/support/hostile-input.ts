import fc from 'fast-check';
import { brokenJson, hostileConstants, hostileNumbers, hostileTexts, MARKUP, unwrittenJson } from './hostile-values.ts';

/** Texts that have broken others, and any text at all. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
);

const hostileNumber = fc.oneof(fc.constantFrom(...hostileNumbers), fc.double({ noNaN: true, noDefaultInfinity: true }));

const nested = fc.nat({ max: 5000 }).map(depth => {
  let value: unknown = 1;
  for (let level = 0; level < Math.min(depth, 2000); level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
});
const manyKeys = fc
  .integer({ min: 100, max: 3000 })
  .map(count => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n])));

/** Any JSON value, with a taste for what nobody expects. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  hostileNumber,
  fc.constantFrom(...hostileConstants),
  fc.jsonValue({ maxDepth: 4 }),
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: manyKeys },
);

type Path = readonly (string | number)[];

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, child]) => pathsOf(child, [...at, key]))].filter(
    path => path.length > 0,
  );
}

function replaced(value: unknown, [key, ...rest]: Path, by: (old: unknown) => unknown): unknown {
  if (key === undefined) return by(value);
  if (Array.isArray(value))
    return value.map((item, at) => (String(at) === String(key) ? replaced(item, rest, by) : item));
  const object = value as Record<string, unknown>;
  return { ...object, [key]: replaced(object[key], rest, by) };
}

/** Where raw JSON is to stand that no value is written as. */
const RAW = 'raw-json-goes-here';
const rawJson = fc.constantFrom(...unwrittenJson, ...brokenJson);

/**
 * A valid request with exactly one thing wrong, as JSON. Every value at every depth is replaced by one of another type or
 * by one that no field takes; unknown fields are added and fields are doubled.
 */
export function withOneFault(valid: object): fc.Arbitrary<string> {
  const paths = pathsOf(valid);
  const typeOf = (value: unknown) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);
  const valueAt = (path: Path): unknown =>
    path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[String(key)], valid);

  const otherType = fc.tuple(fc.constantFrom(...paths), hostileValue).filter(([path, value]) => {
    const old = valueAt(path);
    // The same type may be valid again; an object or a list in place of the same is checked by its own fields.
    return typeOf(old) !== typeOf(value);
  });
  const badText = fc.constantFrom('', '\0', 'a\u202eb', '\ud800', 'a\nb', '\u{e0041}', 'x'.repeat(9000));
  const textPaths = paths.filter(path => typeof valueAt(path) === 'string');
  const wrongText = fc.tuple(fc.constantFrom(...textPaths), badText);
  const numberPaths = paths.filter(path => typeof valueAt(path) === 'number');
  const wrongNumber = fc.tuple(fc.constantFrom(...numberPaths), fc.constantFrom(-1, 1.5, 2 ** 53, 1e308, -(2 ** 31)));
  const one = fc
    .oneof(otherType, wrongText, ...(numberPaths.length === 0 ? [] : [wrongNumber]))
    .map(([path, value]) => JSON.stringify(replaced(valid, path, () => value)));

  const raw = fc
    .tuple(fc.constantFrom(...paths), rawJson)
    .map(([path, text]) => JSON.stringify(replaced(valid, path, () => RAW)).replace(`"${RAW}"`, text));
  const objects: Path[] = [[], ...paths.filter(path => typeOf(valueAt(path)) === 'object')];
  const unknownField = fc
    .tuple(
      fc.constantFrom(...objects),
      fc.oneof(fc.constantFrom('unknown', MARKUP, 'constructor', 'toString', '', '\0'), hostileText),
      hostileValue,
    )
    .filter(([path, name]) => !(name in (valueAt(path) as object)) || name === 'constructor' || name === 'toString')
    .map(([path, name, value]) => {
      const added = replaced(valid, path, old => Object.fromEntries([...Object.entries(old as object), [name, value]]));
      return JSON.stringify(added);
    });
  const doubled = fc.constantFrom(...Object.keys(valid)).map(name => {
    const text = JSON.stringify(valid);
    return `{${JSON.stringify(name)}:${JSON.stringify((valid as Record<string, unknown>)[name])},${text.slice(1)}`;
  });
  const cut = fc
    .nat({ max: JSON.stringify(valid).length - 2 })
    .map(length => JSON.stringify(valid).slice(0, length + 1));
  return fc.oneof(
    { weight: 5, arbitrary: one },
    { weight: 2, arbitrary: raw },
    { weight: 2, arbitrary: unknownField },
    doubled,
    cut,
  );
}
