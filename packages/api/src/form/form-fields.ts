import { numberFromText } from './decimal.ts';
import { type FormContent, type FormContentResult, type FormFault, parseFormContent } from './form-content.ts';
import type { PropertySchema, RequestedSchema } from './property-schema.ts';
import type { FormValue, PatternMatcher } from './value-fault.ts';

/** The posted values of a browser form, by property name. */
export type FormFields = { readonly [name: string]: string | readonly string[] };

/**
 * Converts the posted texts of a browser form to typed content:
 *
 * - an empty field is absent, even if the schema allows an empty text;
 * - a checkbox is `true` if it was posted, otherwise `false`;
 * - an empty selection is an empty list if the property is required, otherwise absent;
 * - a `date-time` is one text, or a local time and an offset (RFC 3339 `time-offset`) in two fields of one name;
 * - CR LF, which forms post as line breaks, become LF.
 *
 * @param matches without it patterns are not checked
 */
export function contentFromFields(
  schema: RequestedSchema,
  fields: FormFields,
  matches?: PatternMatcher,
): FormContentResult {
  const faults: FormFault[] = [];
  const input: [string, unknown][] = Object.keys(fields)
    .filter(name => !Object.hasOwn(schema.properties, name))
    .map(name => [name, fields[name]]);
  const required = new Set(schema.required);
  for (const [name, property] of Object.entries(schema.properties)) {
    const posted = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const value = typedValue(property, posted, required.has(name));
    if (value === unreadable) faults.push({ path: name, code: 'type' });
    else if (value !== undefined) input.push([name, value]);
  }
  const result = parseFormContent(schema, Object.fromEntries(input), matches);
  if (faults.length === 0) return result;
  const unreadables = new Set(faults.map(({ path }) => path));
  return { faults: [...faults, ...(result.faults ?? []).filter(({ path }) => !unreadables.has(path))] };
}

/** Converts content to field values: the inverse of {@link contentFromFields}. */
export function fieldsFromContent(schema: RequestedSchema, content: FormContent): FormFields {
  return Object.fromEntries(
    Object.entries(schema.properties).flatMap(([name, property]) => {
      const value = Object.hasOwn(content, name) ? content[name] : undefined;
      const field = value === undefined ? undefined : fieldOf(property, value);
      return field === undefined ? [] : [[name, field]];
    }),
  );
}

/** Returns the defaults of a schema, to prefill an empty form. */
export function defaultContent(schema: RequestedSchema): FormContent {
  return Object.fromEntries(
    Object.entries(schema.properties).flatMap(([name, property]) =>
      property.default === undefined ? [] : [[name, property.default]],
    ),
  );
}

const unreadable = Symbol('unreadable');

function typedValue(
  property: PropertySchema,
  posted: string | readonly string[] | undefined,
  isRequired: boolean,
): FormValue | undefined | typeof unreadable {
  if (property.type === 'array') {
    const chosen = (typeof posted === 'string' ? [posted] : (posted ?? [])).filter(option => option !== '');
    return chosen.length > 0 || isRequired ? chosen : undefined;
  }
  if (property.type === 'boolean') {
    if (posted === undefined || posted === 'false') return false;
    return posted === 'true' ? true : unreadable;
  }
  const text = isDateTime(property) ? joined(posted) : posted;
  if (text === undefined || text === '') return undefined;
  if (typeof text !== 'string') return unreadable;
  return property.type === 'string' ? textOf(property, text) : readNumber(text);
}

function textOf(property: Extract<PropertySchema, { type: 'string' }>, text: string): string | undefined {
  if ('enum' in property || 'oneOf' in property) return text;
  if (property.format === undefined) return text.replaceAll('\r\n', '\n');
  // Strip white space like browsers do in these fields.
  const stripped = text.trim();
  return stripped === '' ? undefined : stripped;
}

function readNumber(text: string): number | undefined | typeof unreadable {
  if (text.trim() === '') return undefined;
  return numberFromText(text) ?? unreadable;
}

function isDateTime(property: PropertySchema): boolean {
  return 'format' in property && property.format === 'date-time';
}

const LOCAL_TIME = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?$/;
const SPLIT_TIME = /^(\d{4}-\d\d-\d\d)[Tt](.*?)([Zz]|[+-]\d\d:\d\d)$/;

/** Joins a browser's local time, which may lack seconds, with its offset. */
function joined(posted: string | readonly string[] | undefined): string | readonly string[] | undefined {
  if (posted === undefined || typeof posted === 'string') return posted;
  const [local = '', offset = '', ...more] = posted;
  if (local === '' || more.length > 0) return more.length > 0 ? posted : undefined;
  const [, day, minute, second = ':00'] = LOCAL_TIME.exec(local.trim()) ?? [];
  return day === undefined || minute === undefined ? local : `${day}T${minute}${second}${offset}`;
}

function fieldOf(property: PropertySchema, value: FormValue): string | readonly string[] | undefined {
  if (typeof value === 'boolean') return value ? 'true' : undefined;
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string' || !isDateTime(property)) return value;
  const [, day, time, offset] = SPLIT_TIME.exec(value) ?? [];
  return day === undefined || time === undefined || offset === undefined
    ? value
    : [`${day}T${time}`, offset.toUpperCase()];
}
