/** The inputs of a form, one kind of answer each. */
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
import { attributes, type Html, html } from './html.ts';
import { isolate, type Translator } from './translator.ts';

/** As many choices as the eye takes in at once stand open; more fold into a list. */
const openOptions = 5;

type Field<Control extends FormFieldView['control']> = Extract<FormFieldView, { control: Control }>;

export function formFieldNotes(field: FormFieldView, t: Translator): FieldNotes {
  const hint = hintText(field, t);
  return {
    name: field.name,
    label: field.label,
    // A box that is not ticked is an answer too.
    optional: !field.required && field.control !== 'boolean',
    ...(field.description === undefined ? {} : { help: field.description }),
    ...(hint === undefined ? {} : { hint }),
    ...(field.fault === undefined ? {} : { fault: formFaultText(field, field.fault, t) }),
  };
}

export function formControl(field: FormFieldView, notes: FieldNotes, t: Translator): Html {
  switch (field.control) {
    case 'text':
      return text(field, notes, t);
    case 'number':
    case 'integer':
      return number(field, notes, t);
    case 'boolean':
      return box(field, notes);
    case 'select':
      return field.options.length > openOptions ? list(field, notes, t) : radios(field, notes, t);
    case 'multi-select':
      return boxes(field, notes, t);
  }
}

/**
 * A secret of one line. `new-password` because the browser must not fill it in by itself: what it keeps for this origin was
 * typed for another MCP server. Pasting and filling by hand from a password manager work as everywhere.
 */
export function secretInput(notes: FieldNotes): Html {
  return html`<input class="secret"${inputAttributes(notes, { type: 'password', autocomplete: 'new-password', ...asTyped })}>`;
}

/**
 * A secret of several lines, such as a private key: a field of one line would drop the line breaks on pasting. The dots come from
 * the stylesheet, and `autocomplete` keeps the text out of what browsers save of a page.
 */
export function secretText(notes: FieldNotes): Html {
  return html`<textarea class="secret masked"${inputAttributes(notes, { rows: 6, autocomplete: 'off', ...asTyped })}></textarea>`;
}

/** Nothing may change or send elsewhere what is typed. */
export const asTyped = { autocapitalize: 'none', autocorrect: 'off', spellcheck: 'false' };

function text(field: Field<'text'>, notes: FieldNotes, t: Translator): Html {
  const isLong = isLongText(field);
  if (field.secret === true) return labelledField(notes, isLong ? secretText(notes) : secretInput(notes), t);
  if (field.format === 'date-time') return moment(field, notes, t);
  const value = typeof field.value === 'string' ? field.value : undefined;
  if (isLong) return labelledField(notes, textArea(notes, value), t);
  return labelledField(notes, html`<input${inputAttributes(notes, { ...textLook(field.format), value })}>`, t);
}

function textArea(notes: FieldNotes, value = ''): Html {
  // HTML drops one line break right behind the tag, so that ours goes and a first one of the text stays.
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
 * Numbers are typed as text: number fields change on scrolling, and send nothing at all for what they cannot read, so that
 * nobody could be told what was wrong.
 */
function number(field: Field<'number' | 'integer'>, notes: FieldNotes, t: Translator): Html {
  const inputmode = (field.minimum ?? -1) < 0 ? undefined : field.control === 'integer' ? 'numeric' : 'decimal';
  const look = { type: 'text', class: 'short', inputmode, value: field.value, ...asTyped };
  return labelledField(notes, html`<input${inputAttributes(notes, look)}>`, t);
}

function box(field: Field<'boolean'>, notes: FieldNotes): Html {
  const input = inputAttributes(notes, {
    type: 'checkbox',
    value: 'true',
    required: false,
    checked: field.value === true,
  });
  return html`<div class="field alone"><label class="choice"><input${input}><span translate="no">${notes.label}</span></label>
${notesBelow(notes)}</div>
`;
}

function radios(field: Field<'select'>, notes: FieldNotes, t: Translator): Html {
  const open = field.options.map(option => ({ ...option, title: html`<span translate="no">${option.title}</span>` }));
  const none = { value: '', title: t.html('fields.noAnswer') };
  // What was chosen by radio cannot be taken back, so that no answer has to be a choice as well.
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
    choice(html`<span translate="no">${title}</span>`, notes, index, {
      type: 'checkbox',
      value,
      checked: chosen.has(value),
      required: false,
      'aria-describedby': undefined,
    }),
  );
  return groupedField(notes, {}, html`<div class="choices">${inputs}</div>`, t);
}

/** The first has the id that the summary of faults leads to. */
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
    html`<select${inputAttributes(notes, {})}>${none}${field.options.map(option => optionOf(option, chosen))}</select>`,
    t,
  );
}

function optionOf({ value, title }: OptionView, chosen: string): Html {
  return html`<option${attributes({ value, selected: value === chosen })}>${isolate(title)}</option>`;
}

/** A local time and its offset: the browser knows no more without a script, and RFC 3339 wants both. */
function moment(field: Field<'text'>, notes: FieldNotes, t: Translator): Html {
  const [local = '', offset = 'Z'] = typeof field.value === 'string' ? [field.value] : (field.value ?? []);
  const time = html`<input${inputAttributes(notes, { type: 'datetime-local', step: 'any', value: local })}>`;
  const known = offsets.includes(offset) ? offsets : [offset, ...offsets];
  const zone = html`<select${attributes({
    name: `field.${notes.name}`,
    form: answerFormId,
    'aria-label': t.plain('fields.offset', { field: notes.label }),
  })}>${known.map(value => optionOf({ value, title: value === 'Z' ? 'UTC' : `UTC${value}` }, offset))}</select>`;
  return labelledField(notes, html`<div class="at">${time}${zone}</div>`, t);
}

/** Every offset from UTC that is in use, by whole hours and by the parts of hours that some places have. */
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
