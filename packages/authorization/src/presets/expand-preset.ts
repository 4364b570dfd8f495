import * as z from 'zod';
import { providerMembers } from '../provider-config.ts';
import { presets } from './index.ts';
import type { Placeholder, Preset } from './preset.ts';

type JsonObject = Readonly<Record<string, unknown>>;
type FaultSink = Pick<z.core.$RefinementCtx<unknown>, 'addIssue'>;

/** Members that merge with the preset entry by entry. Any other member replaces the member of the preset. */
const mergedMembers: ReadonlySet<string> = new Set([
  'authorizationParameters',
  'tokenParameters',
  'scopeImplies',
  'scopeDescriptions',
]);

/**
 * Merges the preset named in a raw provider configuration with the operator's own members, which take precedence. `null`
 * removes a member of the preset. Returns a configuration without a preset unchanged, and also a value that is not an object, which
 * the schema then refuses.
 *
 * Scopes: the preset's access per scope becomes `scopeDescriptions`, which restrict nothing. It stays valid if the operator only
 * writes another text. `scopes` remains the operator's closed list. With a preset it may also be a list of names that the preset
 * knows.
 *
 * Call it before validation, as in `z.preprocess(expandPreset, schema)`. Reports faults by path; the result is then unusable.
 *
 * @internal exported for tests
 */
export function expandPreset(raw: unknown, faults: FaultSink): unknown {
  if (!isObject(raw)) return raw;
  const { preset: name, presetValues } = raw;
  const fault = (path: (string | number)[], message: string) =>
    faults.addIssue({ code: 'custom', path, message, input: raw });

  if (name === undefined) {
    if (presetValues !== undefined) fault(['presetValues'], 'needs preset');
    return raw;
  }
  const preset = presets.find(candidate => candidate.name === name);
  if (preset === undefined) {
    fault(['preset'], `must be one of ${presets.map(candidate => candidate.name).join(', ')}`);
    return raw;
  }

  const values = placeholderValues(preset, presetValues, fault);
  const expanded = merge(fill(membersOf(preset), values), raw);
  if (!Array.isArray(expanded['scopes'])) return expanded;
  return { ...expanded, scopes: closedList(expanded['scopes'], expanded['scopeDescriptions'], fault) };
}

/**
 * A third-party authorization server at which Postern is an OAuth client. Presets are expanded before validation, so the same
 * rules apply to their members.
 */
export const providerConfigSchema = z.preprocess(expandPreset, providerMembers);

/** Returns a preset as members of a provider configuration, with placeholders. */
function membersOf({ provider, displayName, mark, documentation, scopes, pkce }: Preset): JsonObject {
  return {
    displayName,
    mark,
    documentation,
    ...(Object.keys(scopes).length > 0 && { scopeDescriptions: mapValues(scopes, access => ({ access })) }),
    ...(pkce === 'unsupported' && { pkce }),
    ...provider,
  };
}

function placeholderValues(
  { placeholders, name: preset }: Preset,
  given: unknown,
  fault: (path: string[], message: string) => void,
): Map<string, string> {
  const values = new Map<string, string>();
  if (given !== undefined && !isObject(given)) {
    fault(['presetValues'], 'must be an object');
    return values;
  }
  for (const name of Object.keys(given ?? {})) {
    if (!Object.hasOwn(placeholders, name)) fault(['presetValues', name], `is not a value of preset ${preset}`);
  }
  for (const [name, placeholder] of Object.entries(placeholders)) {
    const own = given !== undefined && Object.hasOwn(given, name) ? given[name] : undefined;
    const value = own ?? ('fallback' in placeholder ? placeholder.fallback : undefined);
    if (value === undefined) fault(['presetValues', name], `is needed: ${placeholder.help}`);
    else if (typeof value !== 'string') fault(['presetValues', name], 'must be a string');
    else {
      const message = placeholderValueFault(placeholder, value);
      if (message === undefined) values.set(name, value);
      else fault(['presetValues', name], message);
    }
  }
  return values;
}

/** Replaces `{name}` in every string. Other braces, such as `{clientId}`, stay. */
function fill(value: JsonObject, values: ReadonlyMap<string, string>): JsonObject {
  const filled = (item: unknown): unknown => {
    if (typeof item === 'string') return item.replace(/\{(\w+)\}/g, (match, name) => values.get(name) ?? match);
    if (Array.isArray(item)) return item.map(filled);
    if (isObject(item)) return fill(item, values);
    return item;
  };
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filled(item)]));
}

function merge(preset: JsonObject, operator: JsonObject): JsonObject {
  const merged = new Map(Object.entries(preset));
  for (const [name, value] of Object.entries(operator)) {
    const base = merged.get(name);
    if (value === null) merged.delete(name);
    else if (!mergedMembers.has(name) || !isObject(base) || !isObject(value)) merged.set(name, value);
    else merged.set(name, { ...base, ...(name === 'scopeDescriptions' ? describedAnew(base, value) : value) });
  }
  return Object.fromEntries(merged);
}

/** Returns the operator's descriptions with the access of the preset, unless the operator sets it too. */
function describedAnew(preset: JsonObject, operator: JsonObject): JsonObject {
  return mapValues(operator, (own, scope) => {
    const base = Object.hasOwn(preset, scope) ? preset[scope] : undefined;
    if (!isObject(base)) return own;
    const isText = typeof own === 'string' || (isObject(own) && 'en' in own);
    if (isText) return { ...base, text: own };
    return isObject(own) ? { ...base, ...own } : own;
  });
}

function closedList(
  names: readonly unknown[],
  descriptions: unknown,
  fault: (path: (string | number)[], message: string) => void,
): JsonObject {
  const closed: [string, unknown][] = [];
  for (const [index, name] of names.entries()) {
    const known = typeof name === 'string' && isObject(descriptions) && Object.hasOwn(descriptions, name);
    if (known) closed.push([name, descriptions[name]]);
    else
      fault(
        ['scopes', index],
        'is not described by the preset; write scopes as scope: description, or add scopeDescriptions',
      );
  }
  return Object.fromEntries(closed);
}

const mapValues = <T>(record: Readonly<Record<string, T>>, change: (value: T, name: string) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const slug = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Describes why a value is invalid for a placeholder, without quoting it; undefined if it is valid.
 * @internal exported for tests
 */
export function placeholderValueFault(placeholder: Placeholder, value: string): string | undefined {
  switch (placeholder.kind) {
    case 'host':
      return hostFault(placeholder, value);
    case 'slug':
      return slug.test(value) ? undefined : 'must be letters, digits, "-" and "_" only';
    case 'uuid':
      return uuid.test(value) ? undefined : 'must be a UUID, such as 00000000-0000-4000-8000-000000000000';
    case 'choice':
      return placeholder.choices.includes(value) ? undefined : `must be one of ${placeholder.choices.join(', ')}`;
  }
}

function hostFault({ within, port: portAllowed }: Extract<Placeholder, { kind: 'host' }>, value: string) {
  const [name = '', port, ...rest] = value.split(':');
  if (rest.length > 0 || (port !== undefined && !(portAllowed && isPort(port)))) {
    return portAllowed
      ? 'must be a host name, optionally with a port'
      : 'must be a host name only, without scheme and path';
  }
  if (!isDnsName(name)) return 'must be a host name only, without scheme and path';
  const host = name.toLowerCase();
  if (within !== undefined && !within.some(domain => host === domain || host.endsWith(`.${domain}`))) {
    return `must be a host of ${within.join(' or ')}`;
  }
  return undefined;
}

const isPort = (value: string): boolean => /^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535;

/** Excludes IP addresses in any notation: the last label of a DNS name does not begin with a digit (RFC 3696 section 2). */
function isDnsName(value: string): boolean {
  const labels = value.split('.');
  return value.length <= 253 && labels.every(part => label.test(part)) && !/^\d/.test(labels.at(-1) ?? '');
}
