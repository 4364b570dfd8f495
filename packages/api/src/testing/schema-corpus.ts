/**
 * Sample schemas. Valid ones cover each structure in the specification (`client/elicitation` of 2025-11-25 and 2026-07-28), its
 * schema types and its conformance suite. Invalid ones come with the path of the fault.
 */

type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };

const object = (
  properties: { readonly [name: string]: Json },
  more: { readonly [member: string]: Json } = {},
): Json => ({
  type: 'object',
  properties,
  ...more,
});
const one = (property: Json): Json => object({ answer: property });

const shades = [
  { const: '#b91c1c', title: 'Crimson' },
  { const: '#15803d', title: 'Moss' },
  { const: '#1d4ed8', title: 'Ocean' },
];

export const acceptedSchemas: Readonly<Record<string, Json>> = {
  'string with everything': one({
    type: 'string',
    title: 'Contact',
    description: 'Where we reach you',
    minLength: 3,
    maxLength: 50,
    format: 'email',
    default: 'ada@northwind.example',
  }),
  // As in the prose of 2025-11-25, where the default does not match either.
  'string with a pattern': one({
    type: 'string',
    title: 'Contact',
    description: 'Where we reach you',
    minLength: 3,
    maxLength: 50,
    pattern: '^[A-Za-z]+$',
    format: 'email',
    default: 'ada@northwind.example',
  }),
  'bare string': object({ login: { type: 'string' } }, { required: ['login'] }),
  'every format': object({
    mail: { type: 'string', format: 'email' },
    page: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date' },
    moment: { type: 'string', format: 'date-time' },
  }),
  'defaults of every format': object({
    mail: { type: 'string', format: 'email', default: 'a@b.example' },
    page: { type: 'string', format: 'uri', default: 'urn:isbn:0451450523' },
    day: { type: 'string', format: 'date', default: '2024-02-29' },
    moment: { type: 'string', format: 'date-time', default: '2026-03-04T14:30:00.25+05:45' },
  }),
  number: one({ type: 'number', title: 'Share', description: 'In percent', minimum: 0, maximum: 100, default: 50 }),
  integer: one({ type: 'integer', title: 'Seats', description: 'How many', minimum: 1, maximum: 9, default: 2 }),
  'number with fractions': one({ type: 'number', minimum: -0.5, maximum: 0.5, default: 0.125 }),
  'integer within fractions': one({ type: 'integer', minimum: 0.5, maximum: 1.5, default: 1 }),
  boolean: one({ type: 'boolean', title: 'Window seat', description: 'If there is one', default: false }),
  'choice without titles': one({
    type: 'string',
    title: 'Shade',
    description: 'Of the cover',
    enum: ['Crimson', 'Moss', 'Ocean'],
    default: 'Moss',
  }),
  'choice with titles': one({
    type: 'string',
    title: 'Shade',
    description: 'Of the cover',
    oneOf: shades,
    default: '#15803d',
  }),
  'choice with titles, older spelling': one({
    type: 'string',
    title: 'Size',
    enum: ['s', 'm', 'l'],
    enumNames: ['Small', 'Medium', 'Large'],
    default: 'm',
  }),
  'several without titles': one({
    type: 'array',
    title: 'Shades',
    description: 'Of the covers',
    minItems: 1,
    maxItems: 2,
    items: { type: 'string', enum: ['Crimson', 'Moss', 'Ocean'] },
    default: ['Crimson', 'Moss'],
  }),
  'several with titles': one({
    type: 'array',
    title: 'Shades',
    description: 'Of the covers',
    minItems: 1,
    maxItems: 2,
    items: { anyOf: shades },
    default: ['#b91c1c', '#15803d'],
  }),
  'several with nothing chosen': one({ type: 'array', items: { anyOf: shades }, default: [] }),
  'contact details': object(
    {
      name: { type: 'string', description: 'As in your passport' },
      email: { type: 'string', format: 'email', description: 'For the confirmation' },
      age: { type: 'number', minimum: 18, description: 'In years' },
    },
    { required: ['name', 'email'] },
  ),
  'one default of each type (SEP-1034)': object(
    {
      name: { type: 'string', description: 'Name', default: 'Ada Okafor' },
      age: { type: 'integer', description: 'Age', default: 30 },
      score: { type: 'number', description: 'Score', default: 95.5 },
      status: { type: 'string', description: 'Status', enum: ['active', 'away'], default: 'active' },
      verified: { type: 'boolean', description: 'Verified', default: true },
    },
    { required: [] },
  ),
  'every kind of choice (SEP-1330)': object({
    single: { type: 'string', enum: ['a', 'b'] },
    titledSingle: { type: 'string', oneOf: [{ const: 'a', title: 'First' }] },
    legacy: { type: 'string', enum: ['a', 'b'], enumNames: ['First', 'Second'] },
    several: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    titledSeveral: { type: 'array', items: { anyOf: [{ const: 'a', title: 'First' }] } },
  }),
  'its dialect named': object(
    { login: { type: 'string' } },
    { $schema: 'https://json-schema.org/draft/2020-12/schema' },
  ),
  'no property at all': object({}),
  'names of every shape': object({ a: { type: 'boolean' }, _b: { type: 'boolean' }, 'c.d-e_1': { type: 'boolean' } }),
  'as many properties as there may be': object(
    Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`p${index}`, { type: 'boolean' }])),
  ),
  'texts in other scripts': one({
    type: 'string',
    title: '姓名',
    description: 'الاسم الكامل',
    enum: ['東京', '👩‍👩‍👧‍👦'],
  }),
};

const options = (count: number) => Array.from({ length: count }, (_, index) => `option ${index}`);
const rtl = 'abc\u202Egnp.exe';

/** Each with the path of its (first) fault. */
export const refusedSchemas: readonly (readonly [name: string, path: string, schema: unknown])[] = [
  ['no object', '', 'x'],
  ['a list', '', []],
  ['another root type', 'type', { type: 'array', properties: {} }],
  ['no properties', 'properties', { type: 'object' }],
  ['unknown member of the root', 'additionalProperties', object({}, { additionalProperties: false })],
  ['definitions', '$defs', object({}, { $defs: {} })],
  ['another dialect', '$schema', object({}, { $schema: 'http://json-schema.org/draft-07/schema#' })],
  [
    'too many properties',
    'properties',
    object(Object.fromEntries(options(21).map(name => [name.replace(' ', ''), { type: 'boolean' }]))),
  ],

  ['nested object', 'properties.answer.type', one({ type: 'object', properties: { a: { type: 'string' } } })],
  ['reference', 'properties.answer.type', one({ $ref: '#/$defs/a' })],
  ['reference beside a type', 'properties.answer.$ref', one({ type: 'string', $ref: '#/$defs/a' })],
  ['unknown type', 'properties.answer.type', one({ type: 'null' })],
  ['list of types', 'properties.answer.type', one({ type: ['string', 'null'] })],
  ['no type', 'properties.answer.type', one({ title: 'x' })],
  ['property that is no schema', 'properties.answer', one(true)],
  ['boolean schema', 'properties.answer', one(null)],

  ['pattern of nothing', 'properties.answer.pattern', one({ type: 'string', pattern: '' })],
  ['pattern that is too long', 'properties.answer.pattern', one({ type: 'string', pattern: 'a'.repeat(201) })],
  ['pattern without a canonical form', 'properties.answer.pattern', one({ type: 'string', pattern: 'a\ud800' })],
  ['pattern that is no text', 'properties.answer.pattern', one({ type: 'string', pattern: ['a'] })],
  ['pattern of a choice', 'properties.answer.pattern', one({ type: 'string', enum: ['a'], pattern: 'a' })],
  ['pattern of a number', 'properties.answer.pattern', one({ type: 'integer', pattern: '1' })],
  ['unknown keyword', 'properties.answer.contentEncoding', one({ type: 'string', contentEncoding: 'base64' })],
  ['keyword of another type', 'properties.answer.minimum', one({ type: 'string', minimum: 1 })],
  ['constant', 'properties.answer.const', one({ type: 'boolean', const: true })],
  ['unknown format', 'properties.answer.format', one({ type: 'string', format: 'ipv4' })],
  ['format with a choice', 'properties.answer.format', one({ type: 'string', format: 'email', enum: ['a@b.example'] })],
  ['length with a choice', 'properties.answer.minLength', one({ type: 'string', minLength: 1, oneOf: shades })],
  ['negative length', 'properties.answer.minLength', one({ type: 'string', minLength: -1 })],
  ['fraction of a length', 'properties.answer.maxLength', one({ type: 'string', maxLength: 1.5 })],
  ['lengths crossed', 'properties.answer.minLength', one({ type: 'string', minLength: 5, maxLength: 4 })],
  ['longer than any text may be', 'properties.answer.minLength', one({ type: 'string', minLength: 4097 })],
  ['range crossed', 'properties.answer.minimum', one({ type: 'number', minimum: 2, maximum: 1 })],
  ['range without an integer', 'properties.answer.minimum', one({ type: 'integer', minimum: 0.2, maximum: 0.8 })],
  ['range beyond what counts exactly', 'properties.answer.minimum', one({ type: 'integer', minimum: 1e300 })],
  ['limit as text', 'properties.answer.minimum', one({ type: 'number', minimum: '1' })],
  ['exclusive limit', 'properties.answer.exclusiveMinimum', one({ type: 'number', exclusiveMinimum: 0 })],

  ['empty choice', 'properties.answer.enum', one({ type: 'string', enum: [] })],
  ['empty titled choice', 'properties.answer.oneOf', one({ type: 'string', oneOf: [] })],
  ['choice of numbers', 'properties.answer.enum.0', one({ type: 'string', enum: [1] })],
  ['choice with an empty value', 'properties.answer.enum.1', one({ type: 'string', enum: ['a', ''] })],
  ['choice with a repeat', 'properties.answer.enum.2', one({ type: 'string', enum: ['a', 'b', 'a'] })],
  [
    'titled choice with a repeat',
    'properties.answer.oneOf.1.const',
    one({
      type: 'string',
      oneOf: [
        { const: 'a', title: 'A' },
        { const: 'a', title: 'B' },
      ],
    }),
  ],
  [
    'two choices that read the same',
    'properties.answer.oneOf.1.title',
    one({
      type: 'string',
      oneOf: [
        { const: 'a', title: 'A' },
        { const: 'b', title: 'A' },
      ],
    }),
  ],
  [
    'titled choice without a title',
    'properties.answer.oneOf.0.title',
    one({ type: 'string', oneOf: [{ const: 'a' }] }),
  ],
  [
    'titled choice with more',
    'properties.answer.oneOf.0.description',
    one({ type: 'string', oneOf: [{ const: 'a', title: 'A', description: 'x' }] }),
  ],
  [
    'both spellings of a choice',
    'properties.answer.oneOf',
    one({ type: 'string', enum: ['a'], oneOf: [{ const: 'a', title: 'A' }] }),
  ],
  ['names without values', 'properties.answer.enumNames', one({ type: 'string', enumNames: ['A'] })],
  [
    'fewer names than values',
    'properties.answer.enumNames',
    one({ type: 'string', enum: ['a', 'b'], enumNames: ['A'] }),
  ],
  ['too many choices', 'properties.answer.enum', one({ type: 'string', enum: options(251) })],

  ['list without items', 'properties.answer.items', one({ type: 'array' })],
  ['list of any texts', 'properties.answer.items', one({ type: 'array', items: { type: 'string' } })],
  [
    'list of objects',
    'properties.answer.items.properties',
    one({ type: 'array', items: { type: 'object', properties: {} } }),
  ],
  [
    'list of lists',
    'properties.answer.items.items',
    one({ type: 'array', items: { type: 'array', items: { type: 'string' } } }),
  ],
  ['list of references', 'properties.answer.items.$ref', one({ type: 'array', items: { $ref: '#' } })],
  [
    'list with both spellings',
    'properties.answer.items',
    one({ type: 'array', items: { type: 'string', enum: ['a'], anyOf: shades } }),
  ],
  [
    'list with a repeat',
    'properties.answer.items.enum.1',
    one({ type: 'array', items: { type: 'string', enum: ['a', 'a'] } }),
  ],
  [
    'titled list with a repeat',
    'properties.answer.items.anyOf.1.const',
    one({
      type: 'array',
      items: {
        anyOf: [
          { const: 'a', title: 'A' },
          { const: 'a', title: 'B' },
        ],
      },
    }),
  ],
  [
    'item numbers crossed',
    'properties.answer.minItems',
    one({ type: 'array', minItems: 2, maxItems: 1, items: { type: 'string', enum: ['a', 'b'] } }),
  ],
  [
    'more items than there are',
    'properties.answer.minItems',
    one({ type: 'array', minItems: 2, items: { type: 'string', enum: ['a'] } }),
  ],
  [
    'unknown member of a list',
    'properties.answer.uniqueItems',
    one({ type: 'array', uniqueItems: true, items: { type: 'string', enum: ['a'] } }),
  ],

  ['default of another type', 'properties.answer.default', one({ type: 'integer', default: '1' })],
  ['default that is no integer', 'properties.answer.default', one({ type: 'integer', default: 1.5 })],
  ['default outside the range', 'properties.answer.default', one({ type: 'number', maximum: 1, default: 2 })],
  ['default that is too long', 'properties.answer.default', one({ type: 'string', maxLength: 1, default: 'ab' })],
  [
    'default of another format',
    'properties.answer.default',
    one({ type: 'string', format: 'date', default: '2025-02-29' }),
  ],
  ['default that is no choice', 'properties.answer.default', one({ type: 'string', enum: ['a'], default: 'b' })],
  [
    'defaults that are no choices',
    'properties.answer.default',
    one({ type: 'array', items: { anyOf: shades }, default: ['x'] }),
  ],
  [
    'defaults that repeat',
    'properties.answer.default',
    one({ type: 'array', items: { anyOf: shades }, default: ['#b91c1c', '#b91c1c'] }),
  ],
  [
    'too few defaults',
    'properties.answer.default',
    one({ type: 'array', minItems: 1, items: { anyOf: shades }, default: [] }),
  ],
  ['yes or no as text', 'properties.answer.default', one({ type: 'boolean', default: 'true' })],

  ['required but unknown', 'required.1', object({ a: { type: 'string' } }, { required: ['a', 'b'] })],
  ['required twice', 'required.1', object({ a: { type: 'string' } }, { required: ['a', 'a'] })],
  ['required and inherited', 'required.0', object({ a: { type: 'string' } }, { required: ['toString'] })],
  ['required as a flag', 'properties.answer.required', one({ type: 'string', required: true })],

  [
    'prototype as a name',
    'properties.__proto__',
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
  ],
  ['constructor as a name', 'properties.constructor', object({ constructor: { type: 'string' } })],
  ['name of an inherited member', 'properties.toString', object({ toString: { type: 'string' } })],
  ['empty name', 'properties.', object({ '': { type: 'string' } })],
  ['name with markup', 'properties.a"><b>', object({ 'a"><b>': { type: 'string' } })],
  ['name with a space', 'properties.a b', object({ 'a b': { type: 'string' } })],
  ['name in another script', 'properties.аdmin', object({ аdmin: { type: 'string' } })],
  ['name that is too long', `properties.${'a'.repeat(65)}`, object({ ['a'.repeat(65)]: { type: 'string' } })],

  ['title that is too long', 'properties.answer.title', one({ type: 'string', title: 'a'.repeat(121) })],
  [
    'description that is too long',
    'properties.answer.description',
    one({ type: 'string', description: 'a'.repeat(501) }),
  ],
  ['choice that is too long', 'properties.answer.enum.0', one({ type: 'string', enum: ['a'.repeat(201)] })],
  ['title that turns its direction', 'properties.answer.title', one({ type: 'string', title: rtl })],
  ['description that turns its direction', 'properties.answer.description', one({ type: 'boolean', description: rtl })],
  ['choice that turns its direction', 'properties.answer.enum.0', one({ type: 'string', enum: [rtl] })],
  [
    'titled choice that turns its direction',
    'properties.answer.items.anyOf.0.title',
    one({ type: 'array', items: { anyOf: [{ const: 'a', title: rtl }] } }),
  ],
  ['default that turns its direction', 'properties.answer.default', one({ type: 'string', default: rtl })],
  ['title with a line break', 'properties.answer.title', one({ type: 'string', title: 'a\nb' })],
  ['title of nothing', 'properties.answer.title', one({ type: 'string', title: ' ' })],
];
