import { type FormValue, type PropertySchema, parseFormContent } from '@postern/api';
import { faultText, type Option, optionsOf } from './field-text.ts';

export type FieldReading =
  | { readonly type: 'value'; readonly value: FormValue }
  | { readonly type: 'absent' }
  | { readonly type: 'fault'; readonly text: string };

export interface Field {
  readonly name: string;
  readonly property: PropertySchema;
  readonly isRequired: boolean;
}

/** Input that leaves a field empty despite its default. */
export const SKIP = ':skip';

/** Parses one line of input for a field. An empty line takes the default. A leading `::` stands for a typed colon. */
export function readField({ name, property, isRequired }: Field, line: string): FieldReading {
  if (line === '') {
    if (property.default !== undefined) return { type: 'value', value: property.default };
    return isRequired ? { type: 'fault', text: faultText('missing', property) } : { type: 'absent' };
  }
  if (line === SKIP) {
    if (!isRequired) return { type: 'absent' };
    if (property.type !== 'array') return { type: 'fault', text: faultText('missing', property) };
  }
  const value = line === SKIP ? [] : toValue(property, line.startsWith('::') ? line.slice(1) : line);
  if (value === undefined)
    return { type: 'fault', text: faultText(optionsOf(property) === undefined ? 'type' : 'not_an_option', property) };
  const one = { type: 'object', properties: { [name]: property }, required: [name] } as const;
  const checked = parseFormContent(one, { [name]: value });
  if (checked.faults === undefined) return { type: 'value', value };
  return { type: 'fault', text: faultText(checked.faults[0]?.code ?? 'type', property) };
}

function toValue(property: PropertySchema, line: string): FormValue | undefined {
  switch (property.type) {
    case 'boolean':
      if (/^(?:y|yes|true)$/i.test(line)) return true;
      return /^(?:n|no|false)$/i.test(line) ? false : undefined;
    case 'number':
    case 'integer':
      return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(line) ? Number(line) : undefined;
    case 'array':
      return choices(optionsOf(property) ?? [], line);
    case 'string': {
      const options = optionsOf(property);
      return options === undefined ? line : choice(options, line);
    }
  }
}

/** Reads a number as a position in the list, so a value that looks like a number is never picked by mistake. */
function choice(options: readonly Option[], text: string): string | undefined {
  if (/^\d+$/.test(text)) return options[Number(text) - 1]?.value;
  return options.find(({ value, title }) => value === text || title === text)?.value;
}

function choices(options: readonly Option[], line: string): readonly string[] | undefined {
  const found = line
    .split(/^[\d\s,]+$/.test(line) ? /[\s,]+/ : ',')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(part => choice(options, part));
  const values = found.filter(value => value !== undefined);
  return values.length === found.length ? [...new Set(values)] : undefined;
}
