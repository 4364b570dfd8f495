/** The form controls, one per kind of field. */
import { formFaultText, hintText, isLongText } from './field-texts.ts';
import type { FormFieldView, OptionView } from './field-views.ts';
import {
  answerFormId,
  type FieldNotes,
  fieldId,
  groupedField,
  inputAttributes,
  labelledField,
  notesBelow,
} from './fields.ts';
import { foreign, foreignIn } from './foreign-text.ts';
import { attributes, type Html, html } from './html.ts';
import { showable } from './live-parts.ts';
import { submitButton } from './parts.ts';
import { isolate, type Translator } from './translator.ts';

/** Maximum number of options shown as radio buttons; more become a list. */
const openOptions = 5;

type Field<Control extends FormFieldView['control']> = Extract<FormFieldView, { control: Control }>;

export function formFieldNotes(field: FormFieldView, t: Translator): FieldNotes {
  const hint = hintText(field, t);
  return {
    name: field.name,
    label: field.label,
    // An unticked box is a valid value too.
    optional: !field.required && field.control !== 'boolean',
    help: field.description === undefined ? undefined : foreign(field.description, t),
    hint,
    fault: field.fault && formFaultText(field, field.fault, t),
  };
}

/** The two buttons of a `yes-no` field: each of them is an answer. */
export function yesNoButtons({ name }: FormFieldView, t: Translator): Html {
  const button = (value: 'true' | 'false', label: Html) =>
    submitButton(label, 'accent', { name: `field.${name}`, value, 'aria-describedby': fieldId(name) });
  return html`${button('false', t.html('form.no'))}${button('true', t.html('form.yes'))}`;
}

export function formControl(field: FormFieldView, notes: FieldNotes, t: Translator): Html {
  switch (field.control) {
    case 'text':
      return text(field, notes, t);
    case 'number':
    case 'integer':
      return number(field, notes, t);
    case 'boolean':
      return box(field, notes, t);
    case 'yes-no':
      return html`<div class="field"><p class="question" id="${fieldId(field.name)}" tabindex="-1" translate="no">${foreign(field.label, t)}</p>
${notesBelow(notes)}</div>
`;
    case 'select':
      return field.options.length > openOptions ? list(field, notes, t) : radios(field, notes, t);
    case 'multi-select':
      return boxes(field, notes, t);
  }
}

/**
 * Renders a secret of one line. With `one-time-code`, browsers neither fill in a value that the user typed for another MCP
 * server on this origin, nor make one up, nor offer to keep it. Pasting works as usual.
 */
export function secretInput(notes: FieldNotes, t: Translator): Html {
  const look = { type: 'password', autocomplete: 'one-time-code', ...asTyped };
  return showable(html`<input class="secret"${inputAttributes(notes, look)}>`, shownField(notes, t), t);
}

/**
 * Renders a secret of several lines, such as a private key, whose line breaks a one-line field would drop. The stylesheet masks
 * it, and `autocomplete` keeps browsers from saving it.
 */
export function secretText(notes: FieldNotes, t: Translator): Html {
  const look = { rows: 6, autocomplete: 'off', ...asTyped };
  return showable(
    html`<textarea class="secret masked"${inputAttributes(notes, look)}></textarea>`,
    shownField(notes, t),
    t,
  );
}

const shownField = ({ name, label }: FieldNotes, t: Translator) => ({ id: fieldId(name), label: foreign(label, t) });

/** Turns off browser features that change the input or send it elsewhere. */
export const asTyped = { autocapitalize: 'none', autocorrect: 'off', spellcheck: 'false' };

function text(field: Field<'text'>, notes: FieldNotes, t: Translator): Html {
  const isLong = isLongText(field);
  if (field.secret === true) return labelledField(notes, isLong ? secretText(notes, t) : secretInput(notes, t), t);
  if (field.format === 'date-time') return moment(field, notes, t);
  const value = typeof field.value === 'string' ? field.value : undefined;
  if (isLong) return labelledField(notes, textArea(notes, value), t);
  return labelledField(notes, html`<input${inputAttributes(notes, { ...textLook(field.format), value })}>`, t);
}

function textArea(notes: FieldNotes, value = ''): Html {
  // HTML drops the first line break after the tag, so add one to keep a leading line break of the text.
  return html`<textarea${inputAttributes(notes, { rows: 5 })}>${`\n${value}`}</textarea>`;
}

function textLook(format: Field<'text'>['format']): Readonly<Record<string, string>> {
  switch (format) {
    case 'email':
      return { type: 'email', autocomplete: 'email', inputmode: 'email', ...asTyped };
    case 'uri':
      return { type: 'url', autocomplete: 'url', inputmode: 'url', ...asTyped };
    case 'date':
      return { type: 'date', class: 'short' };
    case 'date-time':
    case undefined:
      return { type: 'text' };
  }
}

/**
 * Renders a number as a text input. A number input changes on scrolling, and submits nothing for invalid input, so the page
 * could not explain the fault.
 */
function number(field: Field<'number' | 'integer'>, notes: FieldNotes, t: Translator): Html {
  const inputmode = (field.minimum ?? -1) < 0 ? undefined : field.control === 'integer' ? 'numeric' : 'decimal';
  const look = { type: 'text', class: 'short', inputmode, value: field.value, ...asTyped };
  return labelledField(notes, html`<input${inputAttributes(notes, look)}>`, t);
}

function box(field: Field<'boolean'>, notes: FieldNotes, t: Translator): Html {
  const input = inputAttributes(notes, {
    type: 'checkbox',
    value: 'true',
    required: false,
    checked: field.value === true,
  });
  return html`<div class="field alone"><label class="choice"><input${input}><span translate="no">${foreign(notes.label, t)}</span></label>
${notesBelow(notes)}</div>
`;
}

function radios(field: Field<'select'>, notes: FieldNotes, t: Translator): Html {
  const open = field.options.map(option => ({
    ...option,
    title: html`<span translate="no">${foreign(option.title, t)}</span>`,
  }));
  const none = { value: '', title: t.html('fields.noAnswer') };
  // A radio button cannot be unselected, so an optional choice needs an option for no value.
  const options = notes.optional ? [...open, none] : open;
  const chosen = field.value ?? (notes.optional ? '' : undefined);
  const inputs = options.map(({ value, title }, index) =>
    choice(title, notes, index, {
      type: 'radio',
      value,
      checked: value === chosen,
      'aria-describedby': undefined,
      'aria-invalid': undefined,
    }),
  );
  const group = { role: 'radiogroup', 'aria-invalid': notes.fault === undefined ? undefined : 'true' };
  return groupedField(notes, group, html`<div class="choices">${inputs}</div>`, t);
}

function boxes(field: Field<'multi-select'>, notes: FieldNotes, t: Translator): Html {
  const chosen = new Set(field.values);
  const inputs = field.options.map(({ value, title }, index) =>
    choice(html`<span translate="no">${foreign(title, t)}</span>`, notes, index, {
      type: 'checkbox',
      value,
      checked: chosen.has(value),
      required: false,
      'aria-describedby': undefined,
    }),
  );
  return groupedField(notes, {}, html`<div class="choices">${inputs}</div>`, t);
}

/** The first input has the id that the fault summary links to. */
function choice(
  title: Html,
  notes: FieldNotes,
  index: number,
  more: Readonly<Record<string, string | boolean | undefined>>,
): Html {
  const id = index === 0 ? fieldId(notes.name) : `option-${index}-${notes.name}`;
  return html`<label class="choice"><input${inputAttributes(notes, { id, ...more })}>${title}</label>`;
}

function list(field: Field<'select'>, notes: FieldNotes, t: Translator): Html {
  const chosen = field.value ?? '';
  const none = html`<option value="">${t.plain(notes.optional ? 'fields.noAnswer' : 'fields.choose')}</option>`;
  return labelledField(
    notes,
    html`<select${inputAttributes(notes, {})}>${none}${field.options.map(option => optionOf(option, chosen, t))}</select>`,
    t,
  );
}

function optionOf({ value, title }: OptionView, chosen: string, t: Translator): Html {
  const { text, language } = foreignIn(title, t);
  return html`<option${attributes({ value, selected: value === chosen, lang: language, dir: 'auto' })}>${isolate(text)}</option>`;
}

/** Renders a local time and an offset. RFC 3339 needs both, and without a script browsers have no input with an offset. */
function moment(field: Field<'text'>, notes: FieldNotes, t: Translator): Html {
  const [local = '', offset = 'Z'] = typeof field.value === 'string' ? [field.value] : (field.value ?? []);
  const time = html`<input${inputAttributes(notes, { type: 'datetime-local', step: 'any', value: local })}>`;
  const known = offsets.includes(offset) ? offsets : [offset, ...offsets];
  const zone = html`<select${attributes({
    name: `field.${notes.name}`,
    form: answerFormId,
    'aria-label': t.plain('fields.offset', { field: notes.label }),
    // The script knows the time zone.
    'data-zone': field.value === undefined,
  })}>${known.map(value => optionOf({ value, title: value === 'Z' ? 'UTC' : `UTC${value}` }, offset, t))}</select>`;
  return labelledField(notes, html`<div class="at">${time}${zone}</div>`, t);
}

/** Every offset from UTC in use: whole hours, and the fractions of hours that some places use. */
const offsets: readonly string[] = [
  ...[-12, -11, -10, -9.5, -9, -8, -7, -6, -5, -4, -3.5, -3, -2, -1].map(offsetText),
  'Z',
  ...[1, 2, 3, 3.5, 4, 4.5, 5, 5.5, 5.75, 6, 6.5, 7, 8, 8.75, 9, 9.5, 10, 10.5, 11, 12, 12.75, 13, 14].map(offsetText),
];

function offsetText(hours: number): string {
  const minutes = Math.abs(hours) * 60;
  const parts = [Math.floor(minutes / 60), minutes % 60].map(part => String(part).padStart(2, '0'));
  return `${hours < 0 ? '-' : '+'}${parts.join(':')}`;
}
