import type { RequestedSchema } from './requested-schema.ts';
import { type FormFaultCode, type FormValue, type PatternMatcher, valueFault } from './value-fault.ts';

/** The answer to a form: a value of the right type for each property that was answered. */
export type FormContent = { readonly [name: string]: FormValue };

/** What is wrong with one property; never what was typed. */
export interface FormFault {
  /** The name of the property. */
  readonly path: string;
  readonly code: FormFaultCode;
}

export type FormContentResult =
  | { readonly content: FormContent; readonly faults?: never }
  | { readonly faults: readonly FormFault[]; readonly content?: never };

/**
 * Checks an answer against its schema, whoever gives it: what an MCP client sends is no better than what a browser sends.
 * Nothing is converted, and no default is put in: an absent optional property was not answered.
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
