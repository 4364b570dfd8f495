import { type PropertySchema, requestedSchemaSchema } from '@postern/api/form';
import type { Elicitation } from '@postern/elicitation';

/** What a form of a page can bring at most. */
export interface FormLimits {
  readonly controls: number;
  /** As it travels. */
  readonly bytes: number;
}

/** Without anything to type: the CSRF token, the digest of what was shown, a passkey ceremony and the authenticator's answer. */
export const OWN_CONTROLS: FormLimits = { controls: 4, bytes: 16 * 1024 };

/** A character takes at most four bytes in UTF-8, and three for each of them where it is escaped. */
const BYTES_PER_CHARACTER = 12;
/** Before the name of each input that is typed into, and its `=` and `&`. */
const FRAME_BYTES = 'field.'.length + 2;
const MAX_TEXT_LENGTH = 4096;
/** Whatever a form asks for. */
const MAX_BYTES = 320 * 1024;
/** Digits, signs, `true`. */
const SHORT_VALUE_LENGTH = 128;

interface Control {
  readonly name: string;
  readonly maxLength: number;
}

/** Of the forms on the page of this elicitation. */
export function formLimitsOf({ request }: Elicitation): FormLimits {
  switch (request.kind) {
    case 'credential':
      return limitsOf(request.fields);
    case 'form': {
      // Checked when it was issued; parsed again because it comes from the store.
      const { properties } = requestedSchemaSchema.parse(request.requestedSchema);
      return limitsOf(Object.entries(properties).flatMap(([name, property]) => controlsOf(name, property)));
    }
    default:
      return OWN_CONTROLS;
  }
}

function limitsOf(controls: readonly Control[]): FormLimits {
  const typed = controls.map(
    ({ name, maxLength }) => FRAME_BYTES + (name.length + Math.min(maxLength, MAX_TEXT_LENGTH)) * BYTES_PER_CHARACTER,
  );
  return {
    controls: OWN_CONTROLS.controls + controls.length,
    bytes: Math.min(
      typed.reduce((sum, bytes) => sum + bytes, OWN_CONTROLS.bytes),
      MAX_BYTES,
    ),
  };
}

function controlsOf(name: string, property: PropertySchema): readonly Control[] {
  switch (property.type) {
    case 'boolean':
    case 'number':
    case 'integer':
      return [{ name, maxLength: SHORT_VALUE_LENGTH }];
    case 'array': {
      const { items } = property;
      const values = 'enum' in items ? items.enum : items.anyOf.map(option => option.const);
      return values.map(value => ({ name, maxLength: value.length }));
    }
    case 'string': {
      const control = {
        name,
        maxLength: ('maxLength' in property ? property.maxLength : undefined) ?? MAX_TEXT_LENGTH,
      };
      // A local time and its offset.
      return 'format' in property && property.format === 'date-time' ? [control, control] : [control];
    }
  }
}
