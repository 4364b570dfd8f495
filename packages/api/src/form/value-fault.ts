import type {
  MultiSelectProperty,
  PropertySchema,
  SelectProperty,
  TextProperty,
  TitledSelectProperty,
} from './property-schema.ts';
import { formatFits } from './string-formats.ts';

/** Maximum length of any text in a form, in Unicode code points. Overrides a larger `maxLength`. */
export const MAX_FORM_TEXT_LENGTH = 4096;

export const formFaultCodes = [
  /** A member that the schema does not define. */
  'unknown',
  'missing',
  'type',
  'too_short',
  'too_long',
  'format',
  /** Only if patterns are checked: see {@link PatternMatcher}. */
  'pattern',
  'minimum',
  'maximum',
  'not_an_option',
  'too_few',
  'too_many',
] as const;
export type FormFaultCode = (typeof formFaultCodes)[number];

/** A value of a property: the content union of MCP's `ElicitResult`. */
export type FormValue = string | number | boolean | readonly string[];

/**
 * Whether a pattern matches part of a text. Patterns are untrusted, and JavaScript's own regular expressions can
 * backtrack exponentially. Only callers with a linear-time engine (RE2) check patterns; other callers leave the check
 * to the MCP server.
 */
export type PatternMatcher = (pattern: string, text: string) => boolean;

/** Returns why a value is invalid for `property`, or undefined. */
export function valueFault(
  property: PropertySchema,
  value: unknown,
  matches?: PatternMatcher,
): FormFaultCode | undefined {
  switch (property.type) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'type';
    case 'number':
    case 'integer':
      return numberFault(property, value);
    case 'array':
      return choiceFault(property, value);
    case 'string':
      if (typeof value !== 'string') return 'type';
      if ('enum' in property || 'oneOf' in property)
        return optionValuesOf(property).includes(value) ? undefined : 'not_an_option';
      return textFault(property, value, matches);
  }
}

export function optionValuesOf(
  property: SelectProperty | TitledSelectProperty | MultiSelectProperty,
): readonly string[] {
  if (property.type === 'array')
    return 'enum' in property.items ? property.items.enum : property.items.anyOf.map(option => option.const);
  return 'enum' in property ? property.enum : property.oneOf.map(option => option.const);
}

function textFault(
  property: TextProperty,
  value: string,
  matches: PatternMatcher | undefined,
): FormFaultCode | undefined {
  const { minLength = 0, maxLength = MAX_FORM_TEXT_LENGTH, pattern, format } = property;
  // JSON libraries may change a text with lone surrogates (RFC 8259 section 8.2).
  if (!value.isWellFormed()) return 'type';
  const length = codePoints(value);
  if (length > Math.min(maxLength, MAX_FORM_TEXT_LENGTH)) return 'too_long';
  if (length < minLength) return 'too_short';
  if (format !== undefined && !formatFits(format, value)) return 'format';
  return pattern === undefined || matches === undefined || matches(pattern, value) ? undefined : 'pattern';
}

/** JSON Schema counts characters as RFC 8259 defines them: Unicode code points, not UTF-16 code units. */
function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function numberFault(
  { type, minimum = -Infinity, maximum = Infinity }: Extract<PropertySchema, { type: 'number' | 'integer' }>,
  value: unknown,
): FormFaultCode | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'type';
  // Beyond 2^53 numbers are rounded, so the value may differ from the input.
  if (type === 'integer' && !Number.isSafeInteger(value)) return 'type';
  if (value < minimum) return 'minimum';
  return value > maximum ? 'maximum' : undefined;
}

function choiceFault(property: MultiSelectProperty, value: unknown): FormFaultCode | undefined {
  if (!Array.isArray(value)) return 'type';
  const chosen: readonly unknown[] = value;
  const options = new Set<unknown>(optionValuesOf(property));
  if (!chosen.every(option => options.has(option))) return 'not_an_option';
  // Refuse duplicates: an option is selected or not.
  if (new Set(chosen).size !== chosen.length) return 'not_an_option';
  const { minItems = 0, maxItems = options.size } = property;
  if (chosen.length < minItems) return 'too_few';
  return chosen.length > maxItems ? 'too_many' : undefined;
}
