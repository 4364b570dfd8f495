import { describe, expect, test } from 'vitest';
import {
  accept,
  cancel,
  checkAnswer,
  decline,
  formRequest,
  parseElicitation,
  readUrlElicitationRequired,
  toElicitRequest,
  urlElicitationRequiredError,
  urlRequest,
} from './requests.ts';
import { formOf, url } from './testing/example-requests.ts';

const refused = (code: string) => expect.objectContaining({ code });
const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

describe('requests', () => {
  test('parse to what was built', () => {
    const form = formRequest({ message: 'Who?', requestedSchema: schema });
    expect(parseElicitation(toElicitRequest(form).params)).toEqual(form);
    expect(parseElicitation(toElicitRequest(url).params)).toEqual(url);
    expect(parseElicitation({ mode: 'url', message: 'm', url: 'https://a.example/' })).not.toHaveProperty(
      'elicitationId',
    );
  });

  test('without a mode are in form mode', () => {
    for (const mode of [undefined, null])
      expect(parseElicitation({ mode, message: 'Who?', requestedSchema: schema }).mode).toBe('form');
  });

  test.each([null, ''])('with %j as id have none', elicitationId => {
    const params = { mode: 'url', message: 'm', url: 'https://a.example/', elicitationId };
    expect(parseElicitation(params)).not.toHaveProperty('elicitationId');
    expect(readUrlElicitationRequired({ code: -32042, data: { elicitations: [params] } })).toBeUndefined();
  });

  test.each([
    undefined,
    {},
    { mode: 'url', message: 'm' },
    { mode: 'voice', message: 'm' },
    { mode: 'form', message: 1 },
  ])('%j is refused', params => {
    expect(() => parseElicitation(params)).toThrow(refused('invalid_request'));
  });

  test.each(['http://gate.example.com/', 'https://user@gate.example.com/', 'ftp://gate.example.com/', 'x', ''])(
    'no URL request is built for %j',
    text => {
      expect(() => urlRequest({ message: 'm', url: text })).toThrow(refused('invalid_request'));
    },
  );

  test('formRequest refuses a schema outside the restricted schema', () => {
    expect(() => formRequest({ message: 'm', requestedSchema: { ...schema, additionalProperties: false } })).toThrow(
      refused('invalid_request'),
    );
  });
});

describe('−32042', () => {
  const { mode, message, url: address } = url;
  test('is recognised by its data', () => {
    expect(readUrlElicitationRequired(urlElicitationRequiredError([url]))).toEqual([url]);
    const more = { code: -32042, message: 'm', data: { elicitations: [{ ...url, extra: 1 }], extra: 1 } };
    expect(readUrlElicitationRequired(Object.assign(new Error('m'), more))).toEqual([url]);
  });

  test.each([
    { code: -32042, data: { challenges: [{ id: '1', method: 'tempo' }] } },
    { code: -32042, data: { accepts: [{ scheme: 'exact' }] } },
    { code: -32042, data: { elicitations: [] } },
    { code: -32042, data: { elicitations: [{ mode, message, url: address }] } },
    { code: -32042, data: { elicitations: [{ ...url, mode: 'form' }] } },
    { code: -32042 },
    { code: -32000, data: { elicitations: [url] } },
    new Error('no'),
    undefined,
  ])('is not %j', error => {
    expect(readUrlElicitationRequired(error)).toBeUndefined();
  });

  test('is an error to throw, and JSON to send', () => {
    const error = urlElicitationRequiredError([url]);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toBe('UrlElicitationRequired: Open the page first.');
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: -32042,
      message: 'Open the page first.',
      data: { elicitations: [url] },
    });
  });

  test('requires a URL with an id', () => {
    const { elicitationId: _, ...nameless } = url;
    expect(() => urlElicitationRequiredError([])).toThrow(refused('invalid_request'));
    expect(() => urlElicitationRequiredError([nameless])).toThrow(refused('invalid_request'));
  });
});

describe('answers', () => {
  const form = formOf({ age: { type: 'integer', minimum: 18 }, name: { type: 'string' } }, ['age']);

  test('must satisfy the schema of an accepted form', () => {
    expect(checkAnswer(form, accept({ age: 20 }))).toEqual({ action: 'accept', content: { age: 20 } });
    for (const content of [{}, { age: 3 }, { age: '20' }, { age: 20, other: 1 }])
      expect(() => checkAnswer(form, { action: 'accept', content: content as never })).toThrow(
        refused('invalid_content'),
      );
  });

  test('never appear in error messages', () => {
    expect(() => checkAnswer(form, { action: 'accept', content: { age: 'hunter2' } })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });

  test('have content only for an accepted form', () => {
    expect(checkAnswer(url, accept({ age: 20 }))).toEqual({ action: 'accept' });
    expect(checkAnswer(form, { ...decline(), content: {} } as never)).toEqual({ action: 'decline' });
    expect(checkAnswer(form, cancel())).toEqual({ action: 'cancel' });
  });
});
