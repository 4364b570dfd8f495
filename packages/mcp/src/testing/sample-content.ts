import { optionValuesOf, type PropertySchema, type RequestedSchema } from '@postern/api';

/** Returns content that fits a form: the default, or the first valid value. */
export function sampleContent({ properties }: RequestedSchema): Record<string, string | number | boolean | string[]> {
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, sampleOf(property)]));
}

function sampleOf(property: PropertySchema): string | number | boolean | string[] {
  if (property.default !== undefined)
    return typeof property.default === 'object' ? [...property.default] : property.default;
  switch (property.type) {
    case 'boolean':
      return true;
    case 'number':
    case 'integer':
      return property.minimum ?? 1;
    case 'array':
      return optionValuesOf(property).slice(0, 1);
    case 'string':
      return 'enum' in property || 'oneOf' in property ? (optionValuesOf(property)[0] ?? '') : 'typed';
  }
}
