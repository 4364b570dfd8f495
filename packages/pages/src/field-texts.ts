import type { CredentialFieldView, FieldFault, FormFieldView } from './field-views.ts';
import { type Html, ownText } from './html.ts';
import type { Translator } from './translator.ts';
import { readTypedNumber, typedNumberText } from './typed-numbers.ts';

/** Fields with a larger maximum length get several lines. */
const oneLine = 200;

export function isLongText({ format, maxLength = 0 }: Extract<FormFieldView, { control: 'text' }>): boolean {
  return format === undefined && maxLength > oneLine;
}

/** Describes the constraints of a field. */
export function hintText(field: FormFieldView, t: Translator): Html | undefined {
  switch (field.control) {
    case 'text':
      if (field.secret === true && isLongText(field)) return t.html('fields.multilineSecret');
      return field.format === undefined ? lengthHint(field, t) : undefined;
    case 'number':
    case 'integer':
      return rangeHint(field, t);
    case 'multi-select':
      return itemsHint(field, t);
    case 'boolean':
    case 'yes-no':
    case 'select':
      return undefined;
  }
}

function lengthHint(field: { minLength?: number; maxLength?: number }, t: Translator): Html | undefined {
  const min = (field.minLength ?? 0) > 1 ? field.minLength : undefined;
  const max = field.maxLength;
  if (min !== undefined && max !== undefined) return t.html('hint.length', { min, max });
  if (min !== undefined) return t.html('hint.minLength', { min });
  return max === undefined ? undefined : t.html('hint.maxLength', { max });
}

function rangeHint(
  { minimum: min, maximum: max }: { minimum?: number; maximum?: number },
  t: Translator,
): Html | undefined {
  if (min !== undefined && max !== undefined) return t.html('hint.range', numbers({ min, max }, t));
  if (min !== undefined) return t.html('hint.minimum', numbers({ min }, t));
  return max === undefined ? undefined : t.html('hint.maximum', numbers({ max }, t));
}

function itemsHint(field: Extract<FormFieldView, { control: 'multi-select' }>, t: Translator): Html | undefined {
  const { minItems: min = 0, maxItems = field.options.length } = field;
  const max = Math.min(maxItems, field.options.length);
  if (min > 0 && min === max) return t.html('hint.exactItems', { min });
  if (max < field.options.length)
    return min > 0 ? t.html('hint.items', { min, max }) : t.html('hint.maxItems', { max });
  return min > 0 ? t.html('hint.minItems', { min }) : undefined;
}

/** Describes a fault and how to fix it. */
export function formFaultText(field: FormFieldView, fault: FieldFault, t: Translator): Html {
  switch (field.control) {
    case 'text':
      if (fault === 'format' && field.format !== undefined) return formatFault(field.format, t);
      // Secrets are usually pasted, so their faults have other causes.
      if (fault === 'pattern' && field.secret !== true) return t.html('fault.otherForm');
      return textFault(field, fault, t);
    case 'number':
    case 'integer':
      if (fault === 'minimum' && field.minimum !== undefined)
        return t.html('fault.minimum', numbers({ min: field.minimum }, t));
      if (fault === 'maximum' && field.maximum !== undefined)
        return t.html('fault.maximum', numbers({ max: field.maximum }, t));
      if (fault === 'missing') return t.html('fault.missing');
      if (fault === 'ambiguous') return ambiguousFault(field.value ?? '', t);
      return field.control === 'integer'
        ? t.html('fault.integer', { example: typedNumberText('12', t.locale) })
        : t.html('fault.number', { example: typedNumberText('1200.5', t.locale) });
    case 'multi-select':
      if (fault === 'too_few' && field.minItems !== undefined) return t.html('fault.too_few', { min: field.minItems });
      if (fault === 'too_many' && field.maxItems !== undefined)
        return t.html('fault.too_many', { max: field.maxItems });
      return t.html(fault === 'missing' ? 'fault.missingChoice' : 'fault.not_an_option');
    case 'select':
    case 'yes-no':
      return t.html(fault === 'missing' ? 'fault.missingChoice' : 'fault.not_an_option');
    case 'boolean':
      return t.html('fault.other');
  }
}

function ambiguousFault(typed: string, t: Translator): Html {
  const read = readTypedNumber(typed);
  if ('plain' in read) return t.html('fault.other');
  const { whole, decimal } = read.ambiguous;
  return t.html('fault.ambiguous', {
    whole: typedNumberText(whole, t.locale),
    decimal: typedNumberText(decimal, t.locale),
  });
}

function formatFault(format: 'email' | 'uri' | 'date' | 'date-time', t: Translator): Html {
  switch (format) {
    case 'email':
      return t.html('fault.email', { example: 'name@example.com' });
    case 'uri':
      return t.html('fault.uri', { example: 'https://example.com/page' });
    case 'date':
      return t.html('fault.date');
    case 'date-time':
      return t.html('fault.date-time');
  }
}

export function credentialFaultText(
  { maxLength }: CredentialFieldView,
  fault: NonNullable<CredentialFieldView['fault']>,
  t: Translator,
): Html {
  return textFault({ maxLength }, fault, t);
}

function textFault(field: { minLength?: number; maxLength?: number }, fault: FieldFault, t: Translator): Html {
  if (fault === 'missing' || fault === 'pattern' || fault === 'unchecked') return t.html(`fault.${fault}`);
  if (fault === 'too_short' && field.minLength !== undefined)
    return t.html('fault.too_short', { min: field.minLength });
  // A field without `maxLength` only exceeds the global limit, which no typed text reaches.
  if (fault === 'too_long' && field.maxLength !== undefined) return t.html('fault.too_long', { max: field.maxLength });
  return t.html('fault.other');
}

/** Formats numbers for typing. */
function numbers<Name extends string>(values: Readonly<Record<Name, number>>, t: Translator): Record<Name, Html> {
  const entries = Object.entries<number>(values).map(([name, value]) => [
    name,
    ownText(typedNumberText(String(value), t.locale)),
  ]);
  return Object.fromEntries(entries) as Record<Name, Html>;
}
