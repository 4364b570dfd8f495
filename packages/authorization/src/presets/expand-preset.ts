import type * as z from 'zod';
import { presets } from './index.ts';
import { placeholderValueFault } from './placeholder-value.ts';
import type { Preset } from './preset.ts';

type JsonObject = Readonly<Record<string, unknown>>;
type FaultSink = Pick<z.core.$RefinementCtx<unknown>, 'addIssue'>;

/** Members in which the operator adds to what the preset says, entry by entry; every other one replaces it whole. */
const mergedMembers: ReadonlySet<string> = new Set([
  'authorizationParameters',
  'tokenParameters',
  'scopeImplies',
  'scopeDescriptions',
]);

/**
 * Puts the settings of the preset that a raw provider configuration names under the operator's own members, which win.
 * `null` takes away what the preset says. A configuration without a preset is returned as it is; so is what is no object,
 * for the schema behind to refuse.
 *
 * Scopes: the preset's words are `scopeDescriptions`; they describe and restrict nothing. `scopes` remains the operator's
 * closed list; with a preset it may also be a list of names, each of which the preset has words for.
 *
 * To be used before validation, as in `z.preprocess(expandPreset, schema)`. Faults are reported by path; the result is then
 * not to be used.
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

/** A preset as the members of a provider configuration, placeholders still in it. */
function membersOf({ provider, displayName, documentation, scopes, pkce }: Preset): JsonObject {
  return {
    displayName,
    documentation,
    ...(Object.keys(scopes).length > 0 && { scopeDescriptions: scopes }),
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

/** `{name}` in every string; other braces, such as `{clientId}`, stay. */
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
    else merged.set(name, mergedMembers.has(name) && isObject(base) && isObject(value) ? { ...base, ...value } : value);
  }
  return Object.fromEntries(merged);
}

function closedList(
  names: readonly unknown[],
  descriptions: unknown,
  fault: (path: (string | number)[], message: string) => void,
): JsonObject {
  const closed: [string, unknown][] = [];
  for (const [index, name] of names.entries()) {
    const described = typeof name === 'string' && isObject(descriptions) && Object.hasOwn(descriptions, name);
    if (described) closed.push([name, descriptions[name]]);
    else fault(['scopes', index], 'has no words in the preset; write scopes as scope: words, or add scopeDescriptions');
  }
  return Object.fromEntries(closed);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
