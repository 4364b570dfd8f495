const maxClaimLength = 255;

/**
 * The subject made of the configured claims: the value of one claim as it is, several joined by `+` in the configured
 * order. Undefined when a claim is missing, is not a string, or (with several) contains the `+` that would let two
 * people have the same subject.
 */
export function subjectFromClaims(claims: Record<string, unknown>, subjectClaim: string): string | undefined {
  const names = subjectClaim.split('+');
  const values: string[] = [];
  for (const name of names) {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (typeof value !== 'string' || value === '' || value.length > maxClaimLength) return undefined;
    if (names.length > 1 && value.includes('+')) return undefined;
    values.push(value);
  }
  return values.join('+');
}
