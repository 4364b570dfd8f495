import type { CredentialField } from '@postern/elicitation';
import type { Patterns } from './patterns.ts';

export type FieldFault = 'missing' | 'pattern' | 'too_long' | 'unchecked';

/** The user's input by field. */
export type CredentialValues = Readonly<Record<string, string>>;

export type CredentialEntry =
  | { readonly values: CredentialValues; readonly faults?: undefined }
  | { readonly values?: undefined; readonly faults: ReadonlyMap<string, FieldFault> };

/**
 * Reads and validates the fields of a credential. Trims white space at both ends, which comes from copying. Keeps inner line breaks, for
 * example of a private key, as LF.
 */
export async function readCredentialEntry(
  fields: readonly CredentialField[],
  typed: ReadonlyMap<string, string | readonly string[]>,
  matches: (pattern: string, text: string) => ReturnType<Patterns['matches']>,
): Promise<CredentialEntry> {
  const faults = new Map<string, FieldFault>();
  const values: Record<string, string> = {};
  for (const field of fields) {
    const given = typed.get(field.name);
    const value = typeof given === 'string' ? given.replace(/\r\n?/g, '\n').trim() : '';
    const fault = await faultOf(field, value);
    if (fault !== undefined) faults.set(field.name, fault);
    values[field.name] = value;
  }
  return faults.size > 0 ? { faults } : { values };

  async function faultOf({ pattern, maxLength }: CredentialField, value: string): Promise<FieldFault | undefined> {
    if (value === '') return 'missing';
    if (value.length > maxLength) return 'too_long';
    const isMatch = pattern === undefined || (await matches(pattern, value));
    if (isMatch === 'unchecked') return 'unchecked';
    return isMatch ? undefined : 'pattern';
  }
}
