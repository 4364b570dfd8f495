import {
  clientCredentialRules,
  has,
  hasNone,
  isDefaultOrOneOf,
  isOneOf,
  metadataRules,
  when,
} from './json-schema-rules.ts';
import { presets } from './presets/index.ts';
import type { Placeholder, Preset } from './presets/preset.ts';

type Keywords = Readonly<Record<string, unknown>>;

/** Members that no preset has, so `null` is meaningless. */
const neverNull = new Set(['name', 'preset', 'presetValues', 'clientId']);

/**
 * Completes the JSON Schema of a provider with the rules of `expandPreset` and `providerConfigFaults`: with a preset most members
 * are optional, `null` removes one, and `scopes` may be a list of names.
 */
export function providerJsonSchema(
  schema: Keywords & { readonly properties: Readonly<Record<string, Keywords>> },
): Keywords {
  const { scopes, preset, ...properties } = schema.properties;
  if (scopes === undefined || preset === undefined) throw new TypeError('a provider has scopes and preset');
  const scopeNames = { type: 'array', items: properties['defaultScopes']?.['items'] };
  const all = {
    ...properties,
    preset: { ...preset, enum: presets.map(({ name }) => name) },
    scopes: oneMore(oneMore(scopes, scopeNames), { type: 'null' }),
  };
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(all).map(([name, member]) => [
        name,
        neverNull.has(name) || name === 'scopes' ? member : oneMore(member, { type: 'null' }),
      ]),
    ),
    required: ['name'],
    allOf: [
      ...clientCredentialRules,
      { anyOf: [has('clientId'), has('mcpResource')] },
      ...presetRules(),
      { anyOf: [has('preset'), withoutPreset] },
    ],
  };
}

const withoutPreset = {
  required: ['displayName'],
  properties: { scopes: { not: { type: 'array' } } },
  additionalProperties: { not: { type: 'null' } },
  allOf: [
    hasNone('presetValues'),
    { properties: { scopes: { not: { type: 'null' } } } },
    { anyOf: [has('issuer'), has('mcpResource'), has('tokenEndpoint')] },
    when(has('authorizationEndpoint'), has('tokenEndpoint')),
    when({ allOf: [has('tokenEndpoint'), isDefaultOrOneOf('flow', ['redirect'])] }, has('authorizationEndpoint')),
    when(has('tokenEndpoint'), hasNone('discovery', 'metadataUrl', 'mcpResource')),
    ...metadataRules,
    when(has('jwksUri'), has('tokenEndpoint')),
  ],
};

/** Returns the known and required placeholder values of each preset. */
function presetRules(): Keywords[] {
  const isPlain = ({ placeholders }: Preset) => Object.keys(placeholders).length === 0;
  const named = (group: readonly Preset[]) =>
    isOneOf(
      'preset',
      group.map(({ name }) => name),
    );
  const valuesOf = (keywords: Keywords) => ({ properties: { presetValues: { type: 'object', ...keywords } } });
  return [
    when(named(presets.filter(isPlain)), valuesOf({ maxProperties: 0 })),
    ...presets
      .filter(preset => !isPlain(preset))
      .map(preset => {
        const required = Object.entries(preset.placeholders)
          .filter(([, placeholder]) => !('fallback' in placeholder) || placeholder.fallback === undefined)
          .map(([placeholder]) => placeholder);
        const values = valuesOf({
          properties: mapValues(preset.placeholders, presetValue),
          additionalProperties: false,
          required,
        });
        return when(named([preset]), { ...values, ...(required.length > 0 && has('presetValues')) });
      }),
  ];
}

/** See `placeholderValueFault`. */
function presetValue(placeholder: Placeholder): Keywords {
  const { help: description, kind } = placeholder;
  switch (kind) {
    case 'host':
      return {
        description,
        type: 'string',
        pattern: placeholder.port ? '^[A-Za-z0-9.-]+(?::[0-9]{1,5})?$' : '^[A-Za-z0-9.-]+$',
      };
    case 'slug':
      return { description, type: 'string', pattern: '^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$' };
    case 'uuid':
      return { description, type: 'string', pattern: '^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' };
    case 'choice':
      return { description, type: 'string', enum: placeholder.choices };
  }
}

function mapValues<T>(record: Readonly<Record<string, T>>, change: (value: T) => Keywords): Keywords {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

/** Moves description and default to the outer schema, where editors look for them. */
function oneMore({ description, default: fallback, ...schema }: Keywords, alternative: Keywords): Keywords {
  const alternatives = Array.isArray(schema['anyOf']) && Object.keys(schema).length === 1 ? schema['anyOf'] : [schema];
  return {
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    anyOf: [...alternatives, alternative],
  };
}
