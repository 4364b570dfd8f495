import { describe, expect, test } from 'vitest';
import type { FieldFault, FormFieldView } from './field-views.ts';
import { locales } from './languages/languages.ts';
import { credentialPage } from './pages/credential-page.ts';
import { credentialDeletedPage, deleteCredentialPage } from './pages/delete-credential-pages.ts';
import { credentialDonePage } from './pages/entered-pages.ts';
import { formPage } from './pages/form-page.ts';
import { mePage } from './pages/me-page.ts';
import { passkeyRemovedPage, removePasskeyPage } from './pages/passkey-change-pages.ts';
import { sampleEntryPages } from './samples/sample-entry-pages.ts';
import {
  basicCredential,
  deleteCredential,
  faultyCredential,
  keyCredential,
  removePasskey,
  sampleCredential,
  samplePasskeys,
  sampleSaved,
} from './samples/sample-entry-views.ts';
import { faultyForm, sampleForm, secretForm, yesNoForm } from './samples/sample-form-views.ts';
import { sampleMe } from './samples/sample-views.ts';
import { hostileStrings } from './testing/hostile-strings.ts';
import { sampleContext } from './testing/sample-context.ts';
import { widthOf } from './text-width.ts';
import { translatorFor } from './translator.ts';

const english = sampleContext;
const inputsOf = (markup: string) => markup.match(/<(?:input|select|textarea)[^>]* name="field\.[^>]*>/g) ?? [];
const only = (field: FormFieldView) => formPage(english, { ...sampleForm, form: { fields: [field] } });

describe.each(
  locales.flatMap(locale => Object.entries(sampleEntryPages).map(([name, render]) => ({ locale, name, render }))),
)('$name in $locale', ({ locale, render }) => {
  const markup = render({ ...sampleContext, locale });

  test('every field belongs to the accepting form, and every id is unique', () => {
    for (const input of inputsOf(markup)) expect(input).toContain(' form="answer"');
    if (inputsOf(markup).length > 0)
      expect(markup).toMatch(/<form [^>]*action="\/e\/0a\.sample\/accept"[^>]* id="answer"/);
    const ids = [...markup.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('every id reference has a target', () => {
    const ids = new Set([...markup.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
    const references = [...markup.matchAll(/ (?:for|aria-describedby|aria-labelledby|href)="(#?)([^"]*)"/g)]
      .filter(([whole, hash]) => !whole.startsWith(' href') || hash === '#')
      .flatMap(([, , names = '']) => names.split(' '));
    for (const reference of references) expect(ids).toContain(reference);
  });

  test('no secret field has a value, or a maximum length that would truncate it', () => {
    expect(markup).not.toMatch(/<input[^>]*type="password"[^>]* value=/);
    expect(markup).not.toMatch(/<textarea class="secret[^>]*>[^<]/);
    expect(markup).not.toMatch(/(?:max|min)length=/);
  });
});

describe('a credential', () => {
  test('has a masked field that keeps it unchanged and is never filled in automatically', () => {
    const [input = ''] = inputsOf(credentialPage(english, sampleCredential));
    for (const attribute of [
      'type="password"',
      'name="field.key"',
      'autocomplete="one-time-code"',
      'autocapitalize="none"',
      'spellcheck="false"',
      'required',
    ]) {
      expect(input).toContain(` ${attribute}`);
    }
  });

  test('of several lines keeps its lines and is masked too', () => {
    const input = inputsOf(credentialPage(english, keyCredential)).find(tag => tag.includes('privateKey'));
    expect(input).toMatch(/^<textarea class="secret masked".* autocomplete="off".* spellcheck="false"/);
  });

  test('has a user name that the browser neither suggests nor keeps', () => {
    const tags = inputsOf(credentialPage(english, basicCredential));
    expect(tags.map(tag => /autocomplete="([^"]*)"/.exec(tag)?.[1])).toEqual(['off', 'one-time-code']);
    expect(tags[0]).toContain(' value="ada.okafor"');
  });

  test('is not rendered even if the view contains one', () => {
    const forged = { ...sampleCredential.credential.fields[0], value: 'hunter2' } as never;
    const credential = { ...sampleCredential.credential, fields: [forged] };
    expect(credentialPage(english, { ...sampleCredential, credential })).not.toContain('hunter2');
    const pin = { control: 'text', name: 'pin', label: 'PIN', required: true, secret: true, value: 'hunter2' } as never;
    const long = {
      control: 'text',
      name: 'pin',
      label: 'PIN',
      required: true,
      secret: true,
      maxLength: 900,
      value: 'hunter2',
    } as never;
    expect(only(pin)).not.toContain('hunter2');
    expect(only(long)).not.toContain('hunter2');
  });

  test('the page says who receives it and for how long', () => {
    const once = credentialPage(english, sampleCredential);
    expect(once).toContain('once, and to no one else');
    const lasting = credentialPage(english, basicCredential);
    expect(lasting).toContain('until you delete them');
    expect(lasting).toContain('<bdi>imap.fabrikam.example</bdi>');
  });

  test.each(locales)('that replaces a rejected one says so before anything else, in %s', locale => {
    const text = translatorFor({ ...sampleContext, locale }).html('credential.replaces', {
      mcpServer: 'Issue Tracker',
    });
    const page = (replaces: boolean) =>
      credentialPage(
        { ...sampleContext, locale },
        {
          ...sampleCredential,
          mcpServer: { ...sampleCredential.mcpServer, name: 'Issue Tracker' },
          credential: { ...sampleCredential.credential, replaces },
        },
      );
    expect(page(true)).toContain(`<div class="lead"><p>${text}`);
    expect(page(false)).not.toContain(`${text}`);
  });

  test('refuses a host that is not normalised', () => {
    const credential = { ...basicCredential.credential, checkedAt: 'Imap.example' };
    expect(() => credentialPage(english, { ...basicCredential, credential })).toThrow(TypeError);
  });
});

describe('faults', () => {
  test.each([
    ['form', formPage(english, faultyForm), faultyForm.form.fields],
    ['credential', credentialPage(english, faultyCredential), faultyCredential.credential.fields],
  ] as const)('of a %s are shown at the top, with a link to each field, and at the field', (_name, markup, fields) => {
    const summary = markup.slice(markup.indexOf('class="notice"'), markup.indexOf('class="asker"'));
    for (const { name } of fields) {
      expect(summary).toContain(`href="#field-${name}"`);
      expect(markup).toContain(` id="fault-${name}"`);
      expect(markup).toMatch(new RegExp(`aria-describedby="fault-${name}[ "]|id="fault-${name}"`));
    }
    expect(markup.match(/aria-invalid="true"/g)?.length).toBeGreaterThanOrEqual(fields.length);
    expect(markup).toMatch(/<title>Please check: /);
  });

  test('are not announced if there are none', () => {
    expect(formPage(english, sampleForm)).not.toMatch(/aria-invalid|class="field-fault"|Please check/);
  });

  test('keep the typed values, except secrets', () => {
    expect(formPage(english, faultyForm)).toContain(' value="ada at northwind"');
    const page = formPage(english, { ...secretForm, notice: 'fields_invalid' });
    expect(page).toContain(' value="4711"');
    expect(page).toContain('hidden fields are empty');
  });

  test.each([
    'missing',
    'type',
    'too_short',
    'too_long',
    'format',
    'minimum',
    'maximum',
    'not_an_option',
    'too_few',
    'too_many',
    'pattern',
    'unchecked',
  ] satisfies FieldFault[])('%s has a text for every kind of field', fault => {
    for (const field of [
      ...sampleForm.form.fields,
      { control: 'text', name: 'x', label: 'x', required: true } as const,
    ]) {
      for (const locale of locales) {
        const view = { ...sampleForm, form: { fields: [{ ...field, fault }] } };
        const words = /id="fault-[^"]*">.*?<span>(.*?)<\/span><\/p>/.exec(formPage({ ...english, locale }, view))?.[1];
        expect(words?.length).toBeGreaterThan(3);
      }
    }
  });
});

test('a text in the wrong format and a badly pasted secret have different texts', () => {
  const field = { control: 'text', name: 'x', label: 'x', required: true, fault: 'pattern' } as const;
  const words = [field, { ...field, secret: true as const }].map(
    one =>
      /id="fault-x">.*?<span>(.*?)<\/span><\/p>/.exec(
        formPage(english, { ...sampleForm, form: { fields: [one] } }),
      )?.[1],
  );
  expect(new Set(words).size).toBe(2);
});

describe('a form', () => {
  test('leaves validation to the gateway, unless an error would make the user retype a secret', () => {
    expect(formPage(english, sampleForm)).toContain(' id="answer" novalidate>');
    expect(formPage(english, secretForm)).not.toContain('novalidate');
    expect(credentialPage(english, sampleCredential)).not.toContain('novalidate');
  });

  test('describes the accepted answers before the user types', () => {
    const base = { name: 'x', label: 'x', required: true } as const;
    const hintOf = (field: FormFieldView) => /id="hint-x">(.*?)<\/p>/.exec(only(field))?.[1];
    expect(hintOf({ ...base, control: 'text', minLength: 1, maxLength: 9 })).toBe('9 characters at most.');
    expect(hintOf({ ...base, control: 'number', minimum: 0.1, maximum: 1_000_000 })).toBe('From 0.1 to 1000000.');
    expect(hintOf({ ...base, control: 'integer', minimum: -5 })).toBe('-5 or more.');
    expect(hintOf({ ...base, control: 'number', maximum: 1e300 })).toBe('1e+300 or less.');
    const options = ['a', 'b', 'c'].map(value => ({ value, title: value }));
    expect(hintOf({ ...base, control: 'multi-select', options, minItems: 2, maxItems: 2 })).toBe('Choose 2.');
    expect(hintOf({ ...base, control: 'multi-select', options, minItems: 1, maxItems: 9 })).toBe('Choose 1 or more.');
    expect(hintOf({ ...base, control: 'multi-select', options })).toBeUndefined();
    expect(hintOf({ ...base, control: 'text' })).toBeUndefined();
  });

  test.each([
    [5, 'radio'],
    [6, 'select'],
  ])('shows %i choices as %s', (count, control) => {
    const options = Array.from({ length: count }, (_, index) => ({ value: `${index}`, title: `${index}` }));
    const markup = only({ control: 'select', name: 'x', label: 'x', required: true, options });
    expect(markup.includes('<select')).toBe(control === 'select');
    expect(markup.match(/type="radio"/g)?.length ?? 0).toBe(control === 'radio' ? count : 0);
  });

  test('of one required boolean has two answers, and declining is another form', () => {
    const page = formPage(english, yesNoForm);
    const accepting = /<form [^>]*action="[^"]*\/accept".*?<\/form>/s.exec(page)?.[0] ?? '';
    expect(
      [...accepting.matchAll(/<button [^>]*name="field\.value" value="(\w+)"/g)].map(([, value]) => value),
    ).toEqual(['false', 'true']);
    expect(page).not.toContain('type="checkbox"');
    expect(page).toMatch(/<form [^>]*action="[^"]*\/decline"/);
  });

  test('offers an empty choice where no answer is required', () => {
    const options = [{ value: 'a', title: 'A' }];
    const field = { control: 'select', name: 'x', label: 'x', options } as const;
    expect(only({ ...field, required: false })).toMatch(/type="radio" value="" checked/);
    expect(only({ ...field, required: true })).not.toContain('value=""');
  });

  test('requests the right keyboard on phones, with a minus if negative numbers are allowed', () => {
    const modeOf = (field: FormFieldView) => /inputmode="([^"]*)"/.exec(only(field))?.[1];
    const base = { name: 'x', label: 'x', required: true } as const;
    expect(modeOf({ ...base, control: 'integer', minimum: 0 })).toBe('numeric');
    expect(modeOf({ ...base, control: 'number', minimum: 0 })).toBe('decimal');
    expect(modeOf({ ...base, control: 'integer' })).toBeUndefined();
    expect(modeOf({ ...base, control: 'text', format: 'email' })).toBe('email');
    expect(modeOf({ ...base, control: 'text', format: 'uri' })).toBe('url');
  });

  test('a field name that could break out of its attribute is refused', () => {
    const field = { control: 'text', name: 'a"b', label: 'x', required: true, fault: 'missing' } as const;
    expect(() => formPage(english, { ...sampleForm, notice: 'fields_invalid', form: { fields: [field] } })).toThrow(
      TypeError,
    );
  });
});

describe.each(hostileStrings)('hostile text %j', hostile => {
  const tagsOf = (markup: string) =>
    (markup.replace(/ tone-\d+/g, '').match(/<[^>]*>/g) ?? []).filter(tag => !/ (?:value|aria-label)=/.test(tag));
  const options = (text: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ value: `${text}${index}`, title: text }));
  const render = (text: string) => {
    const mcpServer = { name: text, host: 'a.example' };
    const context = { ...english, branding: { name: text } };
    const frame = { label: text, description: text, required: false, fault: 'missing' } as const;
    return [
      credentialPage(context, {
        ...basicCredential,
        mcpServer,
        shown: text,
        notice: 'fields_invalid',
        credential: {
          title: text,
          lasting: true,
          replaces: true,
          fields: [
            {
              name: 'a',
              label: text,
              help: text,
              example: text,
              secret: false,
              value: text,
              maxLength: 9,
              fault: 'pattern',
            },
            { name: 'b', label: text, help: text, example: text, secret: true, maxLength: 9, fault: 'pattern' },
            { name: 'c', label: text, help: text, example: text, secret: true, multiline: true, maxLength: 9 },
          ],
        },
      }),
      formPage(context, {
        ...sampleForm,
        mcpServer,
        shown: text,
        notice: 'fields_invalid',
        form: {
          title: text,
          fields: [
            { ...frame, name: 'a', control: 'text', value: text },
            { ...frame, name: 'b', control: 'text', maxLength: 900, value: text },
            { ...frame, name: 'c', control: 'text', format: 'date-time', value: [text, text] },
            { ...frame, name: 'd', control: 'number', value: text },
            { ...frame, name: 'e', control: 'boolean' },
            { ...frame, name: 'f', control: 'select', options: options(text, 3), value: text },
            { ...frame, name: 'g', control: 'select', options: options(text, 9), value: `${text}8` },
            { ...frame, name: 'h', control: 'multi-select', options: options(text, 3), values: [`${text}1`] },
          ],
        },
      }),
      credentialDonePage(context, { mcpServer, title: text, lasting: true, connectionsHref: '/me' }),
      mePage(context, {
        ...sampleMe,
        credentials: [
          {
            ...sampleSaved,
            title: text,
            mcpServers: [mcpServer],
            fingerprint: text,
            lastUse: { at: new Date(0), mcpServerName: text, tool: text },
          },
        ],
        passkeys: samplePasskeys.map(passkey => ({ ...passkey, label: text })),
      }),
      deleteCredentialPage(context, { ...deleteCredential, title: text, fingerprint: text, mcpServers: [mcpServer] }),
      credentialDeletedPage(context, { title: text, mcpServers: [mcpServer], backHref: '/me' }),
      removePasskeyPage(context, { ...removePasskey, label: text }),
      passkeyRemovedPage(context, { label: text, backHref: '/me' }),
    ];
  };

  test('hostile text adds no tag and no attribute anywhere', () => {
    expect(render(hostile).map(tagsOf)).toEqual(render('b'.repeat(widthOf(hostile))).map(tagsOf));
  });
});
