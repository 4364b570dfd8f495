import type { RequestedSchema } from './property-schema.ts';
import { type FormFaultCode, type FormValue, type PatternMatcher, valueFault } from './value-fault.ts';

/** The content of an accepted form: a typed value for each answered property. */
export type FormContent = { readonly [name: string]: FormValue };

/** Describes why a property is invalid. Never includes the user's input. */
export interface FormFault {
  /** The name of the property. */
  readonly path: string;
  readonly code: FormFaultCode;
}

export type FormContentResult =
  | { readonly content: FormContent; readonly faults?: never }
  | { readonly faults: readonly FormFault[]; readonly content?: never };

/**
 * Validates form content against its schema. Input from an MCP client is as untrusted as input from a browser.
 * Converts no values and adds no defaults: an absent optional property stays absent.
 *
 * @param matches without it patterns are not checked
 */
export function parseFormContent(
  schema: RequestedSchema,
  input: { readonly [name: string]: unknown },
  matches?: PatternMatcher,
): FormContentResult {
  const faults: FormFault[] = Object.keys(input)
    .filter(name => !Object.hasOwn(schema.properties, name))
    .map(path => ({ path, code: 'unknown' }));
  const values: [string, FormValue][] = [];
  const required = new Set(schema.required);
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined) {
      if (required.has(name)) faults.push({ path: name, code: 'missing' });
      continue;
    }
    const code = valueFault(property, value, matches);
    if (code === undefined && isFormValue(value)) values.push([name, value]);
    else faults.push({ path: name, code: code ?? 'type' });
  }
  // Defines own members, also one named like a setter that every object inherits.
  return faults.length > 0 ? { faults } : { content: Object.fromEntries(values) };
}

function isFormValue(value: unknown): value is FormValue {
  return ['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value);
}
