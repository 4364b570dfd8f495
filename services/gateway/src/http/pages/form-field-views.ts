import {
  defaultContent,
  type FormFault,
  type FormFields,
  fieldsFromContent,
  type PropertySchema,
  type RequestedSchema,
} from '@postern/api/form';
import type { FieldFault, FormFieldView, OptionView } from '@postern/pages';

/** What came back from the page on the last try. */
export interface FormTry {
  readonly fields: FormFields;
  readonly faults: readonly FormFault[];
}

/** The questions of a schema as the page draws them, filled with its defaults or with what was typed; secrets with nothing. */
export function formFieldViews(
  schema: RequestedSchema,
  secretFields: readonly string[],
  tried: FormTry | undefined,
): FormFieldView[] {
  const filled = tried?.fields ?? fieldsFromContent(schema, defaultContent(schema));
  return Object.entries(schema.properties).map(([name, property]) => {
    const fault = faultOf(tried?.faults.find(({ path }) => path === name));
    const frame = {
      name,
      label: property.title ?? name,
      ...(property.description === undefined ? {} : { description: property.description }),
      required: schema.required?.includes(name) === true,
      ...(fault === undefined ? {} : { fault }),
    };
    const value = Object.hasOwn(filled, name) ? filled[name] : undefined;
    return { ...frame, ...controlOf(property, value, secretFields.includes(name)) };
  });
}

type Control = FormFieldView extends infer View ? (View extends FormFieldView ? Omit<View, Frame> : never) : never;
type Frame = 'name' | 'label' | 'description' | 'required' | 'fault';

function controlOf(
  property: PropertySchema,
  value: string | readonly string[] | undefined,
  isSecret: boolean,
): Control {
  const single = typeof value === 'string' ? { value } : {};
  switch (property.type) {
    case 'boolean':
      return { control: 'boolean', value: value === 'true' };
    case 'number':
    case 'integer': {
      const { minimum, maximum } = property;
      return {
        control: property.type,
        ...(minimum === undefined ? {} : { minimum }),
        ...(maximum === undefined ? {} : { maximum }),
        ...single,
      };
    }
    case 'array': {
      const { items, minItems, maxItems } = property;
      return {
        control: 'multi-select',
        options: 'enum' in items ? items.enum.map(untitled) : items.anyOf.map(titled),
        ...(minItems === undefined ? {} : { minItems }),
        ...(maxItems === undefined ? {} : { maxItems }),
        values: typeof value === 'string' ? [value] : (value ?? []),
      };
    }
    case 'string': {
      if ('oneOf' in property) return { control: 'select', options: property.oneOf.map(titled), ...single };
      if ('enum' in property) {
        const { enumNames } = property;
        const options = property.enum.map((option, at) => ({ value: option, title: enumNames?.[at] ?? option }));
        return { control: 'select', options, ...single };
      }
      const { format, minLength, maxLength } = property;
      const facts = {
        control: 'text',
        ...(format === undefined ? {} : { format }),
        ...(minLength === undefined ? {} : { minLength }),
        ...(maxLength === undefined ? {} : { maxLength }),
      } as const;
      return isSecret ? { ...facts, secret: true } : { ...facts, ...(value === undefined ? {} : { value }) };
    }
  }
}

const untitled = (value: string): OptionView => ({ value, title: value });
const titled = (option: { readonly const: string; readonly title: string }): OptionView => ({
  value: option.const,
  title: option.title,
});

/** A field that nobody asked for has no place on the page. */
function faultOf(fault: FormFault | undefined): FieldFault | undefined {
  return fault === undefined || fault.code === 'unknown' ? undefined : fault.code;
}
