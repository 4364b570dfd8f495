import { patternSchema, type RequestedSchema, requestedSchemaSchema, stringFormats } from '@postern/api';
import type { z } from 'zod/v4';
import { HostError } from './errors.ts';
import { inertLine } from './inert.ts';

type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Annotations, which do not constrain the content. */
const rootAnnotations = new Set(['$schema', '$id', '$comment', 'title', 'description']);
const propertyAnnotations = new Set(['$comment', 'examples', 'deprecated', 'readOnly', 'writeOnly']);
const formats = new Set<unknown>(stringFormats);

const TITLE_LENGTH = 120;
const DESCRIPTION_LENGTH = 500;

function inertMember(members: Members, name: string, length: number): void {
  const text = members[name];
  if (typeof text !== 'string') return;
  const inert = inertLine(text, length);
  if (inert === '') delete members[name];
  else members[name] = inert;
}

const inertTitles = (options: unknown): unknown =>
  Array.isArray(options)
    ? options.map(option => {
        if (!isMembers(option)) return option;
        const copy = { ...option };
        inertMember(copy, 'title', TITLE_LENGTH);
        return copy;
      })
    : options;

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
  if ('oneOf' in copy) copy['oneOf'] = inertTitles(copy['oneOf']);
  const { items, enumNames } = copy;
  if (isMembers(items) && 'anyOf' in items) copy['items'] = { ...items, anyOf: inertTitles(items['anyOf']) };
  if (Array.isArray(enumNames))
    copy['enumNames'] = enumNames.map(name => (typeof name === 'string' ? inertLine(name, TITLE_LENGTH) : name));
  return copy;
}

function tolerant(schema: unknown): unknown {
  if (!isMembers(schema)) return schema;
  const copy = without(schema, rootAnnotations);
  if (typeof copy['additionalProperties'] === 'boolean') delete copy['additionalProperties'];
  const { properties } = copy;
  if (isMembers(properties))
    copy['properties'] = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, tolerantProperty(property)]),
    );
  return copy;
}

const without = (members: Members, names: ReadonlySet<string>): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(name)));

function withoutMember(value: unknown, path: readonly PropertyKey[]): unknown {
  const [step, ...rest] = path;
  if (!isMembers(value) || typeof step !== 'string') return value;
  if (rest.length === 0) return without(value, new Set([step]));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, name === step ? withoutMember(member, rest) : member]),
  );
}

/**
 * Parses the form schema of an MCP server. Drops annotations, unknown formats and invalid defaults, and makes texts inert.
 * Refuses everything else outside MCP's restricted schema (nested objects, references, unknown types and keywords), because
 * a form cannot show it.
 *
 * @throws {HostError} `invalid_request`, with the paths of the faults
 */
export function parseRequestedSchema(wire: unknown): RequestedSchema {
  let schema = tolerant(wire);
  const strict = requestedSchemaSchema.safeParse(schema);
  if (strict.success) return strict.data;
  for (const { path } of strict.error.issues) if (path.at(-1) === 'default') schema = withoutMember(schema, path);
  const parsed = requestedSchemaSchema.safeParse(schema);
  if (parsed.success) return parsed.data;
  throw new HostError('invalid_request', `the form is outside MCP's restricted schema: ${faultsOf(parsed.error)}`);
}

function faultsOf(error: z.ZodError): string {
  const faults = error.issues.map(
    ({ path, message }) => `${path.map(String).join('.') || 'requestedSchema'}: ${message}`,
  );
  return inertLine(faults.join('; '), 500);
}
