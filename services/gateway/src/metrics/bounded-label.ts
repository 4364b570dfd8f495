const OTHER = 'other';

/**
 * Makes what was said into the value of a label. Codes are closed sets of ours and of the libraries below, but nobody watches
 * that they stay so, and a label that takes any value costs memory without end, here and in Prometheus, and carries it there.
 * What is not a short code, and what comes after many others, is `other`; what is absent is `none`.
 * @param max as many values as are told apart
 */
export function createBoundedLabel(max: number): (value: unknown) => string {
  const known = new Set<string>();
  return value => {
    if (value === undefined) return 'none';
    if (typeof value !== 'string' || !/^[a-z][a-z0-9_]{0,39}$/.test(value)) return OTHER;
    if (known.has(value)) return value;
    if (known.size >= max) return OTHER;
    known.add(value);
    return value;
  };
}
