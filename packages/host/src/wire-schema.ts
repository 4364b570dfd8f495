import { patternSchema, type RequestedSchema, requestedSchemaWithin, stringFormats } from '@postern/api';
import { z } from 'zod/v4';
import { HostError } from './errors.ts';
import { inertLine } from './inert.ts';

type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Annotations, which do not constrain the content. */
const rootAnnotations = new Set(['$schema', '$id', '$comment', 'title', 'description']);
const propertyAnnotations = new Set(['$comment', 'examples', 'deprecated', 'readOnly', 'writeOnly']);
const formats = new Set<unknown>(stringFormats);

/** MCP limits neither names nor values. These numbers limit the work, and no form for a person comes near them. */
const MAX_LENGTH = 512 * 1024;
const MAX_PROPERTIES = 200;
const anyForm = requestedSchemaWithin({
  bytes: MAX_LENGTH,
  properties: MAX_PROPERTIES,
  options: 5_000,
  sameTitles: true,
  name: z.string(),
  optionValue: z.string(),
  defaultText: z.string(),
});

const TITLE_LENGTH = 120;
const DESCRIPTION_LENGTH = 500;

function inertMember(members: Members, name: string, length: number): void {
  const text = members[name];
  if (typeof text !== 'string') return;
  const inert = inertLine(text, length);
  if (inert === '') delete members[name];
  else members[name] = inert;
}

const isText = (value: unknown) => typeof value === 'string';

/** One entry that the form cannot have is enough to refuse it. Zod would report each of them, which takes longer than to read them. */
function unlessOdd(entries: readonly unknown[], isFit: (entry: unknown) => boolean): readonly unknown[] {
  const odd = entries.findIndex(entry => !isFit(entry));
  return odd < 0 ? entries : entries.slice(odd, odd + 1);
}

/** Titles are never empty: an option without one is shown by its value. JSON Schema allows repeated options, which mean the same. */
function tolerantOptions(options: unknown): unknown {
  if (!Array.isArray(options)) return options;
  const known = new Set<unknown>();
  return unlessOdd(options, option => isMembers(option) && isText(option['const']) && isText(option['title']))
    .filter(option => !isMembers(option) || (!known.has(option['const']) && known.add(option['const'])))
    .map(option => {
      if (!isMembers(option) || typeof option['title'] !== 'string') return option;
      const own = [option['title'], option['const']].map(text => inertLine(String(text), TITLE_LENGTH));
      return { ...option, title: own.find(text => text !== '') ?? '(empty)' };
    });
}

const withoutRepeats = (values: unknown): unknown =>
  Array.isArray(values) ? [...new Set(unlessOdd(values, isText))] : values;

/** Names that do not belong to the values one by one are no help. */
function namesOf({ enum: values, enumNames }: Members): string[] | undefined {
  if (!Array.isArray(enumNames) || !Array.isArray(values) || enumNames.length !== values.length) return undefined;
  if (new Set(values).size !== values.length) return undefined;
  return enumNames.map(
    (name, at) => inertLine(String(name), TITLE_LENGTH) || inertLine(String(values[at])) || '(empty)',
  );
}

/** Whether to show the pattern to the user. The host never matches patterns; the MCP server checks them. */
function isShownPattern({ type, pattern, ...rest }: Members): boolean {
  return type === 'string' && !('enum' in rest) && !('oneOf' in rest) && patternSchema.safeParse(pattern).success;
}

function tolerantProperty(property: unknown): unknown {
  if (!isMembers(property)) return property;
  const copy = without(property, propertyAnnotations);
  inertMember(copy, 'title', TITLE_LENGTH);
  inertMember(copy, 'description', DESCRIPTION_LENGTH);
  if (!isShownPattern(copy)) delete copy['pattern'];
  if ('format' in copy && !formats.has(copy['format'])) delete copy['format'];
  const { items } = copy;
  if (Array.isArray(copy['default']) && !copy['default'].every(isText)) delete copy['default'];
  const names = namesOf(copy);
  if (names === undefined) delete copy['enumNames'];
  else copy['enumNames'] = names;
  if ('enum' in copy) copy['enum'] = withoutRepeats(copy['enum']);
  if ('oneOf' in copy) copy['oneOf'] = tolerantOptions(copy['oneOf']);
  if ('enum' in copy || 'oneOf' in copy) for (const rule of ['minLength', 'maxLength', 'format']) delete copy[rule];
  if (isMembers(items) && 'anyOf' in items) copy['items'] = { anyOf: tolerantOptions(items['anyOf']) };
  else if (isMembers(items) && 'enum' in items) copy['items'] = { ...items, enum: withoutRepeats(items['enum']) };
  return copy;
}

function tolerant(schema: unknown): unknown {
  if (!isMembers(schema)) return schema;
  const copy = without(schema, rootAnnotations);
  if (typeof copy['additionalProperties'] === 'boolean') delete copy['additionalProperties'];
  const { properties, required } = copy;
  if (isMembers(properties) && Array.isArray(required))
    copy['required'] = [...new Set(required)].filter(
      name => typeof name !== 'string' || Object.hasOwn(properties, name),
    );
  if (isMembers(properties))
    copy['properties'] = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, tolerantProperty(property)]),
    );
  return copy;
}

const without = (members: Members, names: ReadonlySet<string>): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(name)));

/** @returns the names of properties with a fault in their default */
function unfitDefaults({ issues }: z.ZodError): ReadonlySet<PropertyKey> {
  return new Set(
    issues.flatMap(({ path: [root, name, member] }) =>
      root === 'properties' && name !== undefined && member === 'default' ? [name] : [],
    ),
  );
}

function withoutDefaults(schema: unknown, names: ReadonlySet<PropertyKey>): unknown {
  if (!isMembers(schema) || !isMembers(schema['properties'])) return schema;
  const properties = Object.entries(schema['properties']).map(([name, property]) => [
    name,
    names.has(name) && isMembers(property) ? without(property, new Set(['default'])) : property,
  ]);
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** Reading more takes longer than its transport. @throws {HostError} `invalid_request` */
function refuseTooMuch(wire: unknown): void {
  const properties = isMembers(wire) && isMembers(wire['properties']) ? Object.keys(wire['properties']).length : 0;
  if (properties > MAX_PROPERTIES)
    throw new HostError('invalid_request', `the form has more than ${MAX_PROPERTIES} properties`);
  if (JSON.stringify(wire ?? null).length > MAX_LENGTH)
    throw new HostError('invalid_request', `the form is longer than ${MAX_LENGTH} characters`);
}

/**
 * Parses the form schema of an MCP server. Drops annotations, unknown formats and invalid defaults, and makes texts inert, but neither
 * names of properties nor values of options, which the answer repeats. Refuses everything else outside MCP's restricted schema (nested
 * objects, references, unknown types and keywords), because a form cannot show it.
 *
 * @throws {HostError} `invalid_request`, with the paths of the faults
 */
export function parseRequestedSchema(wire: unknown): RequestedSchema {
  refuseTooMuch(wire);
  const schema = tolerant(wire);
  const strict = anyForm.safeParse(schema);
  if (strict.success) return strict.data;
  const parsed = anyForm.safeParse(withoutDefaults(schema, unfitDefaults(strict.error)));
  if (parsed.success) return parsed.data;
  throw new HostError('invalid_request', `the form is outside MCP's restricted schema: ${faultsOf(parsed.error)}`);
}

function faultsOf(error: z.ZodError): string {
  const faults = error.issues
    .slice(0, 20)
    .map(({ path, message }) => `${path.map(String).join('.') || 'requestedSchema'}: ${message}`);
  return inertLine(faults.join('; '), 500);
}
