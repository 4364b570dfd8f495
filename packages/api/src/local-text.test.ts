import { describe, expect, test } from 'vitest';
import { formRequestSchema } from './form/form-request.ts';
import { schemaWithTexts } from './form/form-texts.ts';
import { languageTags, localText, textFor } from './local-text.ts';

const isValid = (value: unknown) => localText(5).safeParse(value).success;

describe('a text', () => {
  test('is one for all languages, or one per language of the pages', () => {
    const valid = ['Hello', { en: 'Hello' }, Object.fromEntries(languageTags.map(tag => [tag, 'Text']))];
    expect(valid.filter(value => !isValid(value))).toEqual([]);
  });

  test('has at least one language, known ones only, and follows the rules for plain text in each', () => {
    const invalid = [
      {},
      [],
      ['en'],
      { it: 'Ciao' },
      { EN: 'Hello' },
      { en: '' },
      { en: 'Hello', de: 'Hallo!' },
      { en: 'Hello', de: undefined },
      { en: 'Hello', de: 'Ha\u202Ello' },
      { en: 'Hello', de: { en: 'Hello' } },
      JSON.parse('{"__proto__": "Hello"}'),
      null,
    ];
    expect(invalid.filter(isValid)).toEqual([]);
  });

  test('is normalised in each language', () => {
    expect(localText(5).parse({ de: ' Gro\u0308ße ', en: 'Size' })).toEqual({ de: 'Größe', en: 'Size' });
  });

  test('of too many characters is refused with its path and the reason', () => {
    const { error } = localText(5).safeParse({ en: 'Hello', de: 'Guten Tag' });
    expect(JSON.stringify(error?.issues)).toContain('at most 5 characters');
  });
});

describe('the text for a reader', () => {
  test.each([
    ['de-AT', 'Hallo'],
    ['zh-TW', '你好嗎'],
    ['zh', '你好吗'],
    ['fr', 'Hello'],
    ['not a tag', 'Hello'],
    [undefined, 'Hello'],
  ])('of %s is in that language, else in English', (tag, text) => {
    expect(textFor({ de: 'Hallo', 'zh-Hant': '你好嗎', 'zh-Hans': '你好吗', en: 'Hello' }, tag)).toBe(text);
  });

  test('is else in the first language of the list, in whichever order they were given', () => {
    expect(textFor({ ja: 'こんにちは', fr: 'Bonjour' }, 'de')).toBe('Bonjour');
    expect(textFor({ tlh: 'nuqneH' }, 'de')).toBe('nuqneH');
  });
});

describe('texts of a form', () => {
  const requestedSchema = {
    type: 'object',
    properties: {
      one: {
        type: 'string',
        title: 'One',
        oneOf: [
          { const: 'a', title: 'A' },
          { const: 'b', title: 'B' },
        ],
      },
      plain: { type: 'string', enum: ['a', 'b'] },
      many: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
      free: { type: 'string' },
    },
  } as const;

  test('replace those of its schema for one language, and leave what MCP allows', () => {
    const options = { a: { en: 'First', de: 'Erstes' } };
    const form = formRequestSchema.parse({
      requestedSchema,
      texts: {
        one: { title: { de: 'Eins' }, options },
        plain: { options },
        many: { options, description: 'Several' },
        free: { title: { en: 'Free' } },
      },
    });
    expect(schemaWithTexts(form.requestedSchema, form.texts ?? {}, 'de').properties).toEqual({
      one: {
        type: 'string',
        title: 'Eins',
        oneOf: [
          { const: 'a', title: 'Erstes' },
          { const: 'b', title: 'B' },
        ],
      },
      plain: { type: 'string', enum: ['a', 'b'], enumNames: ['Erstes', 'b'] },
      many: {
        type: 'array',
        description: 'Several',
        items: {
          anyOf: [
            { const: 'a', title: 'Erstes' },
            { const: 'b', title: 'b' },
          ],
        },
      },
      free: { type: 'string', title: 'Free' },
    });
    expect(schemaWithTexts(form.requestedSchema, {}, 'de')).toEqual(form.requestedSchema);
  });

  test.each(['plain', 'one', 'many'])('may not give two options of %s one title in any language', name => {
    const texts = { [name]: { options: { a: { en: 'A', de: 'Gleich' }, b: { en: 'B', de: 'Gleich' } } } };
    expect(formRequestSchema.safeParse({ requestedSchema, texts }).success).toBe(false);
    const apart = { [name]: { options: { a: { en: 'A', de: 'Eins' }, b: { en: 'B', de: 'Zwei' } } } };
    expect(formRequestSchema.safeParse({ requestedSchema, texts: apart }).success).toBe(true);
  });
});
