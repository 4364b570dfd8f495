/** Arbitrary schemas within MCP's restrictions, each with valid content. */
import fc from 'fast-check';
import type { FormContent } from '../form/form-content.ts';
import type { PropertySchema } from '../form/property-schema.ts';
import type { FormValue } from '../form/value-fault.ts';
import { isInert } from '../plain-text.ts';

interface FilledProperty {
  readonly property: PropertySchema;
  readonly value: FormValue;
}

const label = fc.stringMatching(/^[A-Za-zÀ-ÖØ-öø-ÿ一-龥][A-Za-z0-9 ]{0,20}[a-z]$/).map(text => text.normalize('NFC'));
const texts = fc.record({ title: label, description: label }, { requiredKeys: [] });

/** Text that fits on one line of a page and that no form treats as empty. */
const line = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter(text => text.isWellFormed() && isInert(text) && text.trim() === text);

const pad = (value: number, length: number) => String(value).padStart(length, '0');
const day = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
  .map(date => date.toISOString().slice(0, 10));
const moment = fc
  .record({ day, hour: fc.nat(23), minute: fc.nat(59), second: fc.nat(59), fraction: fc.nat(999) })
  .chain(at =>
    fc
      .constantFrom('Z', '+00:00', '-09:30', '+05:45', '+14:00')
      .map(
        offset =>
          `${at.day}T${pad(at.hour, 2)}:${pad(at.minute, 2)}:${pad(at.second, 2)}${at.fraction === 0 ? '' : `.${pad(at.fraction, 3)}`}${offset}`,
      ),
  );
const formatted = {
  email: fc
    .tuple(fc.stringMatching(/^[a-z]{1,20}$/), fc.stringMatching(/^[a-z]{1,20}$/))
    .map(([a, b]) => `${a}@${b}.example`),
  uri: fc.webUrl({ withQueryParameters: true, withFragments: true }).filter(url => URL.canParse(url)),
  date: day,
  'date-time': moment,
} as const;

const withDefault = ({ property, value }: FilledProperty) =>
  fc.boolean().map(has => ({ property: (has ? { ...property, default: value } : property) as PropertySchema, value }));

const text = fc
  .tuple(texts, line, fc.nat(3), fc.nat(3))
  .map(([words, value, below, above]): FilledProperty => {
    const length = [...value].length;
    return {
      property: { type: 'string', ...words, minLength: Math.max(0, length - below), maxLength: length + above },
      value,
    };
  })
  .chain(withDefault);

const ofFormat = fc
  .constantFrom('email', 'uri', 'date', 'date-time')
  .chain(format =>
    fc
      .tuple(texts, formatted[format])
      .map(([words, value]): FilledProperty => ({ property: { type: 'string', ...words, format }, value })),
  )
  .chain(withDefault);

const number = fc
  .tuple(
    texts,
    fc.constantFrom('number', 'integer'),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
  )
  .chain(([words, type, double, integer]) => {
    const value = (type === 'integer' ? integer : double) + 0;
    return fc
      .record({ minimum: fc.constant(value), maximum: fc.constant(value) }, { requiredKeys: [] })
      .map((limits): FilledProperty => ({ property: { type, ...words, ...limits }, value }));
  })
  .chain(withDefault);

const boolean = fc
  .tuple(texts, fc.boolean())
  .map(([words, value]): FilledProperty => ({ property: { type: 'boolean', ...words }, value }))
  .chain(withDefault);

const options = fc.uniqueArray(line, { minLength: 1, maxLength: 8 });
const asTitled = (values: readonly string[]) =>
  values.map((value, index) => ({ const: value, title: `Option ${index}` }));

const choice = fc
  .tuple(texts, options, fc.constantFrom('plain', 'named', 'titled'), fc.nat())
  .map(([words, values, spelling, pick]): FilledProperty => {
    const value = values[pick % values.length] ?? '';
    const spelled = {
      plain: { enum: values },
      named: { enum: values, enumNames: values.map((_, index) => `Option ${index}`) },
      titled: { oneOf: asTitled(values) },
    } as const;
    return { property: { type: 'string', ...words, ...spelled[spelling] }, value };
  })
  .chain(withDefault);

const several = fc
  .tuple(texts, options, fc.boolean())
  .chain(([words, values, isTitled]) =>
    fc.subarray(values).map(
      (value): FilledProperty => ({
        property: {
          type: 'array',
          ...words,
          minItems: value.length,
          maxItems: values.length,
          items: isTitled ? { anyOf: asTitled(values) } : { type: 'string', enum: values },
        },
        value,
      }),
    ),
  )
  .chain(withDefault);

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,12}$/).filter(text => !(text in Object.prototype));

/** Some properties are required. All required and some optional properties have a value. */
export function filledSchemas(): fc.Arbitrary<{ schema: object; content: FormContent }> {
  const property = fc.tuple(
    name,
    fc.oneof(text, ofFormat, number, boolean, choice, several),
    fc.constantFrom('required', 'answered', 'open'),
  );
  return fc.uniqueArray(property, { selector: ([key]) => key, maxLength: 8 }).map(list => ({
    schema: {
      type: 'object',
      properties: Object.fromEntries(list.map(([key, filled]) => [key, filled.property])),
      required: list.filter(([, , need]) => need === 'required').map(([key]) => key),
    },
    content: Object.fromEntries(
      list.filter(([, , need]) => need !== 'open').map(([key, filled]) => [key, filled.value]),
    ),
  }));
}
