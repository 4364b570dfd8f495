import type {
  MultiSelectProperty,
  PropertySchema,
  SelectProperty,
  TextProperty,
  TitledSelectProperty,
} from './requested-schema.ts';
import { formatFits } from './string-formats.ts';

/** The longest text a form takes, in Unicode code points, whatever its `maxLength`. */
export const MAX_FORM_TEXT_LENGTH = 4096;

export const formFaultCodes = [
  /** A member that the schema does not have. */
  'unknown',
  'missing',
  'type',
  'too_short',
  'too_long',
  'format',
  /** Only where patterns are matched: see {@link PatternMatcher}. */
  'pattern',
  'minimum',
  'maximum',
  'not_an_option',
  'too_few',
  'too_many',
] as const;
export type FormFaultCode = (typeof formFaultCodes)[number];

/** What a property may hold: the union that MCP's `ElicitResult` has for its content. */
export type FormValue = string | number | boolean | readonly string[];

/**
 * Whether a pattern occurs in a text. Patterns are others' and JavaScript's own regular expressions can take longer than anybody
 * waits, so only who can match in linear time (RE2) matches at all. Everybody else leaves patterns to whoever asked.
 */
export type PatternMatcher = (pattern: string, text: string) => boolean;

/** What is wrong with a value that stands where `property` is asked for. */
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
  // A text without lone surrogates is one that every JSON library reads back as it was (RFC 8259 section 8.2).
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
  // Beyond 2^53 neighbours look alike, and what arrives may not be what was typed.
  if (type === 'integer' && !Number.isSafeInteger(value)) return 'type';
  if (value < minimum) return 'minimum';
  return value > maximum ? 'maximum' : undefined;
}

function choiceFault(property: MultiSelectProperty, value: unknown): FormFaultCode | undefined {
  if (!Array.isArray(value)) return 'type';
  const chosen: readonly unknown[] = value;
  const options = new Set<unknown>(optionValuesOf(property));
  if (!chosen.every(option => options.has(option))) return 'not_an_option';
  // One of many is chosen or not: there is no choosing it twice.
  if (new Set(chosen).size !== chosen.length) return 'not_an_option';
  const { minItems = 0, maxItems = options.size } = property;
  if (chosen.length < minItems) return 'too_few';
  return chosen.length > maxItems ? 'too_many' : undefined;
}
