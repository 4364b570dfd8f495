interface Version {
  readonly numbers: readonly number[];
  /** Identifiers of a pre-release. */
  readonly before: readonly string[];
}

/** Whether a version has precedence over another one (Semantic Versioning 2.0.0, section 11). A number that is left out is 0. */
export function isNewer(version: string, than: string): boolean {
  const [a, b] = [parsed(version), parsed(than)];
  const byNumbers = firstDifference(a.numbers, b.numbers, (one, other) => one - other);
  if (byNumbers !== 0) return byNumbers > 0;
  // A pre-release comes before its release.
  if (a.before.length === 0 || b.before.length === 0) return a.before.length < b.before.length;
  return (firstDifference(a.before, b.before, compareIdentifiers) || a.before.length - b.before.length) > 0;
}

function parsed(text: string): Version {
  const [, numbers = '', before = ''] = /^(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?/.exec(text) ?? [];
  return {
    numbers: [...numbers.split('.').map(Number), 0, 0, 0].slice(0, 3),
    before: before === '' ? [] : before.split('.'),
  };
}

/** Numbers come before words, and have no leading zeros: of two, the longer is the greater. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [a, b].map(each => /^\d+$/.test(each));
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

function firstDifference<T>(a: readonly T[], b: readonly T[], compare: (one: T, other: T) => number): number {
  for (const [index, one] of a.slice(0, b.length).entries()) {
    const difference = compare(one, b[index] as T);
    if (difference !== 0) return difference;
  }
  return 0;
}
