import {
  contentFromFields,
  defaultContent,
  type FormContent,
  type FormFault,
  type FormFields,
  type FormTexts,
  fieldsFromContent,
  type PropertySchema,
  type RequestedSchema,
} from '@postern/api/form';
import {
  type FieldFault,
  type FormFieldView,
  type Locale,
  type OptionView,
  readTypedNumber,
  typedNumberText,
} from '@postern/pages';
import type { Patterns } from './patterns.ts';

/** A fault of the content, a number with two readings, or a text whose pattern could not be checked. */
interface EntryFault {
  /** Name of the property. */
  readonly path: string;
  readonly code: FormFault['code'] | 'ambiguous' | 'unchecked';
}

/** The refused submission that the page shows again. */
export interface FormTry {
  readonly fields: FormFields;
  /** The first fault of a field is shown. */
  readonly faults: readonly EntryFault[];
}

/**
 * Reads the fields of a form. Converts them once to collect what must match a pattern, and again with the results.
 * @returns the content also if a number has two readings
 */
export async function readFormEntry(
  schema: RequestedSchema,
  fields: FormFields,
  matches: (pattern: string, text: string) => ReturnType<Patterns['matches']>,
): Promise<{ readonly content?: FormContent | undefined; readonly faults: readonly EntryFault[] }> {
  // Without a pressed button there is no answer, unlike an unticked box.
  const yesNo = yesNoOf(schema);
  if (yesNo !== undefined && !Object.hasOwn(fields, yesNo)) return { faults: [{ path: yesNo, code: 'missing' }] };
  const { plain, ambiguous } = withPlainNumbers(schema, fields);
  const asked: { readonly pattern: string; readonly text: string }[] = [];
  contentFromFields(schema, plain, (pattern, text) => asked.push({ pattern, text }) > 0);
  const matching = new Set<string>();
  const unchecked = new Set<unknown>();
  for (const { pattern, text } of asked) {
    const result = await matches(pattern, text);
    if (result === 'unchecked') unchecked.add(pattern);
    else if (result) matching.add(JSON.stringify([pattern, text]));
  }
  const { content, faults = [] } = contentFromFields(schema, plain, (pattern, text) =>
    matching.has(JSON.stringify([pattern, text])),
  );
  const isUnchecked = ({ path, code }: FormFault) => {
    const property = code === 'pattern' ? schema.properties[path] : undefined;
    return property !== undefined && 'pattern' in property && unchecked.has(property.pattern);
  };
  return {
    content,
    faults: [
      ...ambiguous.map(path => ({ path, code: 'ambiguous' as const })),
      ...faults.map(fault => (isUnchecked(fault) ? { ...fault, code: 'unchecked' as const } : fault)),
    ],
  };
}

/** Numbers as JavaScript writes them, whatever the language of the reader; the names of those with two readings. */
function withPlainNumbers(
  schema: RequestedSchema,
  fields: FormFields,
): { readonly plain: FormFields; readonly ambiguous: readonly string[] } {
  const ambiguous: string[] = [];
  const plain = Object.entries(fields).map(([name, value]): [string, string | readonly string[]] => {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (typeof value !== 'string' || (property?.type !== 'number' && property?.type !== 'integer'))
      return [name, value];
    const read = readTypedNumber(value);
    if ('plain' in read) return [name, read.plain];
    ambiguous.push(name);
    return [name, read.ambiguous.whole];
  });
  return { plain: Object.fromEntries(plain), ambiguous };
}

/** The name of the only property of a form, if it is a required boolean: its page has a button for each answer. */
function yesNoOf({ properties, required = [] }: RequestedSchema): string | undefined {
  const [only, ...others] = Object.entries(properties);
  const isYesNo = only?.[1].type === 'boolean' && others.length === 0 && required.includes(only[0]);
  return isYesNo ? only[0] : undefined;
}

/** Converts the properties of a schema to fields, filled with defaults or the refused submission. Secret fields stay empty. */
export function formFieldViews(
  schema: RequestedSchema,
  secretFields: readonly string[],
  tried: FormTry | undefined,
  { locale, texts }: { readonly locale: Locale; readonly texts: FormTexts },
): FormFieldView[] {
  const filled = tried?.fields ?? defaultFields(schema, locale);
  const yesNo = yesNoOf(schema);
  return Object.entries(schema.properties).map(([name, property]) => {
    const fault = faultOf(tried?.faults.find(({ path }) => path === name));
    const own = Object.hasOwn(texts, name) ? texts[name] : undefined;
    const frame = {
      name,
      label: own?.title ?? property.title ?? name,
      description: own?.description ?? property.description,
      required: schema.required?.includes(name) === true,
      fault,
    };
    const value = Object.hasOwn(filled, name) ? filled[name] : undefined;
    const titles = new Map(Object.entries(own?.options ?? {}));
    const control: Control =
      name === yesNo ? { control: 'yes-no' } : controlOf(property, value, secretFields.includes(name));
    const options = 'options' in control ? control.options : [];
    const titled = options.map(option => ({ ...option, title: titles.get(option.value) ?? option.title }));
    return { ...frame, ...control, ...('options' in control && { options: titled }) };
  });
}

/** Defaults as the reader would type them. */
function defaultFields(schema: RequestedSchema, locale: Locale): FormFields {
  const fields = fieldsFromContent(schema, defaultContent(schema));
  const typed = Object.entries(fields).map(([name, value]): [string, string | readonly string[]] => {
    const { type } = schema.properties[name] ?? {};
    const isNumber = type === 'number' || type === 'integer';
    return [name, isNumber && typeof value === 'string' ? typedNumberText(value, locale) : value];
  });
  return Object.fromEntries(typed);
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
        minimum,
        maximum,
        ...single,
      };
    }
    case 'array': {
      const { items, minItems, maxItems } = property;
      return {
        control: 'multi-select',
        options: 'enum' in items ? items.enum.map(untitled) : items.anyOf.map(titled),
        minItems,
        maxItems,
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
        format,
        minLength,
        maxLength,
      } as const;
      return isSecret ? { ...facts, secret: true } : { ...facts, value };
    }
  }
}

const untitled = (value: string): OptionView => ({ value, title: value });
const titled = (option: { readonly const: string; readonly title: string }): OptionView => ({
  value: option.const,
  title: option.title,
});

/** The page has no field for an unknown property. */
function faultOf(fault: EntryFault | undefined): FieldFault | undefined {
  return fault === undefined || fault.code === 'unknown' ? undefined : fault.code;
}
