import type { FormFaultCode, FormValue, PropertySchema } from '@postern/api';
import { inertLine } from '../inert.ts';

export interface Option {
  readonly value: string;
  readonly title: string;
}

/** Returns the options of a choice, or undefined for a typed field. */
export function optionsOf(property: PropertySchema): readonly Option[] | undefined {
  if (property.type === 'array')
    return 'enum' in property.items ? property.items.enum.map(untitled) : property.items.anyOf.map(titled);
  if (property.type !== 'string') return undefined;
  if ('oneOf' in property) return property.oneOf.map(titled);
  if (!('enum' in property)) return undefined;
  const { enumNames = [] } = property;
  return property.enum.map((value, at) => ({ value, title: enumNames[at] ?? value }));
}

const untitled = (value: string): Option => ({ value, title: value });
const titled = (option: { readonly const: string; readonly title: string }): Option => ({
  value: option.const,
  title: option.title,
});

/** Returns the title with the field name, so a title cannot imitate another field. */
export function labelOf(name: string, property: PropertySchema): string {
  const shown = inertLine(name, 64) || '(no name)';
  const title = inertLine(property.title ?? '', 120);
  return title === '' || title === shown ? shown : `${title} (${shown})`;
}

const optionText = ({ value, title }: Option) =>
  inertLine(value === title ? value : `${title} (${value})`, 200) || '(empty)';

export function optionLines(options: readonly Option[]): readonly string[] {
  const width = String(options.length).length;
  return options.map((option, at) => `    ${String(at + 1).padStart(width)}  ${optionText(option)}`);
}

/** Formats a value for users, on one line. */
export function valueText(property: PropertySchema, value: FormValue): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return String(value);
  const options = optionsOf(property) ?? [];
  const text = (one: string) => {
    const option = options.find(candidate => candidate.value === one);
    return option === undefined ? inertLine(one, 2000) : optionText(option);
  };
  if (typeof value === 'string') return text(value) || '(empty)';
  return value.length === 0 ? '(none)' : value.map(text).join(', ');
}

/** Describes the accepted values: `text, 1 to 80 characters`. */
export function kindText(property: PropertySchema): string {
  switch (property.type) {
    case 'boolean':
      return 'yes or no';
    case 'number':
    case 'integer': {
      const kind = property.type === 'integer' ? 'whole number' : 'number';
      return [kind, range(property.minimum, property.maximum)].filter(Boolean).join(', ');
    }
    case 'array':
      return ['choose any', range(property.minItems, property.maxItems)].filter(Boolean).join(', ');
    case 'string':
      if ('enum' in property || 'oneOf' in property) return 'choose one';
      return [
        formatText(property.format),
        range(property.minLength, property.maxLength, 'characters'),
        property.pattern === undefined ? '' : `fitting the pattern ${inertLine(property.pattern, 200)}`,
      ]
        .filter(Boolean)
        .join(', ');
  }
}

function range(low: number | undefined, high: number | undefined, unit = ''): string {
  const bounds =
    low === undefined
      ? high === undefined
        ? ''
        : `at most ${high}`
      : high === undefined
        ? `at least ${low}`
        : `${low} to ${high}`;
  return bounds === '' || unit === '' ? bounds : `${bounds} ${unit}`;
}

function formatText(format: string | undefined): string {
  switch (format) {
    case undefined:
      return 'text';
    case 'email':
      return 'e-mail address';
    case 'uri':
      return 'web address or other URI';
    case 'date':
      return 'date, as 2026-01-31';
    case 'date-time':
      return 'date and time, as 2026-01-31T09:30:00Z';
    default:
      return inertLine(format, 40);
  }
}

export function faultText(code: FormFaultCode, property: PropertySchema): string {
  switch (code) {
    case 'missing':
      return 'This is needed.';
    case 'not_an_option':
      return 'Please give the number of a choice.';
    default:
      return `That does not fit. Expected: ${kindText(property)}.`;
  }
}
