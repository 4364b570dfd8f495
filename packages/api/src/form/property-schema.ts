/** Types of MCP's restricted schema. `requested-schema.ts` validates schemas, `value-fault.ts` validates values. */
export const stringFormats = ['email', 'uri', 'date', 'date-time'] as const;
export type StringFormat = (typeof stringFormats)[number];

type Texts = { readonly title?: string; readonly description?: string };

/** A value and its title for users. */
export type TitledOption = { readonly const: string; readonly title: string };

export type TextProperty = Texts & {
  readonly type: 'string';
  /** In Unicode code points (JSON Schema Validation 6.3). */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** A regular expression that occurs in the text (JSON Schema Validation 6.3.3). Never run here: see `PatternMatcher`. */
  readonly pattern?: string;
  readonly format?: StringFormat;
  readonly default?: string;
};

export type SelectProperty = Texts & {
  readonly type: 'string';
  readonly enum: readonly string[];
  /** Titles for users, in the order of `enum`. Older form of `oneOf`. */
  readonly enumNames?: readonly string[];
  readonly default?: string;
};

export type TitledSelectProperty = Texts & {
  readonly type: 'string';
  readonly oneOf: readonly TitledOption[];
  readonly default?: string;
};

export type NumberProperty = Texts & {
  readonly type: 'number' | 'integer';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
};

export type BooleanProperty = Texts & { readonly type: 'boolean'; readonly default?: boolean };

export type MultiSelectProperty = Texts & {
  readonly type: 'array';
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items:
    | { readonly type: 'string'; readonly enum: readonly string[] }
    | { readonly anyOf: readonly TitledOption[] };
  readonly default?: readonly string[];
};

export type PropertySchema =
  | TextProperty
  | SelectProperty
  | TitledSelectProperty
  | NumberProperty
  | BooleanProperty
  | MultiSelectProperty;

export type RequestedSchema = {
  readonly $schema?: string;
  readonly type: 'object';
  readonly properties: { readonly [name: string]: PropertySchema };
  readonly required?: readonly string[];
};
