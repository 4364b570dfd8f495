/** View data of the fields that the user fills in. */

import type { ForeignText } from './foreign-text.ts';

/** Why the value of a field is invalid. */
export type FieldFault =
  | 'missing'
  | 'type'
  /** A number with two readings, such as 1.500. */
  | 'ambiguous'
  | 'too_short'
  | 'too_long'
  | 'format'
  | 'minimum'
  | 'maximum'
  | 'not_an_option'
  | 'too_few'
  | 'too_many'
  | 'pattern'
  /** The gateway could not check the pattern in time. */
  | 'unchecked';

interface CredentialFieldFrame {
  /** Letters, digits, `_`, `.` and `-`, a letter or `_` first. The input is named `field.<name>`. */
  readonly name: string;
  readonly label: ForeignText;
  readonly help?: ForeignText;
  readonly example?: ForeignText;
  /** In Unicode code points. */
  readonly maxLength: number;
  readonly fault?: Extract<FieldFault, 'missing' | 'pattern' | 'too_long' | 'unchecked'>;
}

/** One field of a credential. Pages never receive secret values back. */
export type CredentialFieldView = CredentialFieldFrame &
  (
    | {
        readonly secret: true;
        /** A multi-line secret, such as a private key. */
        readonly multiline?: boolean;
        readonly value?: never;
      }
    | { readonly secret: false; readonly value?: string }
  );

export interface OptionView {
  readonly value: string;
  /** The text that users read. Falls back to the value. */
  readonly title: ForeignText;
}

interface FormFieldFrame {
  /** Letters, digits, `_`, `.` and `-`, a letter or `_` first. The input is named `field.<name>`. */
  readonly name: string;
  readonly label: ForeignText;
  readonly description?: ForeignText;
  readonly required: boolean;
  readonly fault?: FieldFault;
}

interface TextFieldFacts {
  readonly control: 'text';
  readonly format?: 'email' | 'uri' | 'date' | 'date-time';
  /** In Unicode code points. */
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** One field of a form. Values are texts, as posted by browsers. */
export type FormFieldView = FormFieldFrame &
  (
    | (TextFieldFacts & {
        readonly secret?: false;
        /** A `date-time` may have two values: a local time and its offset. */
        readonly value?: string | readonly string[];
      })
    | (TextFieldFacts & { readonly secret: true; readonly value?: never })
    | {
        readonly control: 'number' | 'integer';
        readonly minimum?: number;
        readonly maximum?: number;
        readonly value?: string;
      }
    | { readonly control: 'boolean'; readonly value?: boolean }
    /** The only question of a form, to answer with one of two buttons. */
    | { readonly control: 'yes-no' }
    | { readonly control: 'select'; readonly options: readonly OptionView[]; readonly value?: string }
    | {
        readonly control: 'multi-select';
        readonly options: readonly OptionView[];
        readonly minItems?: number;
        readonly maxItems?: number;
        readonly values?: readonly string[];
      }
  );
