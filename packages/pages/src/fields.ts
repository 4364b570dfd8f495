/** Input fields with their frame, notes and faults, linked for screen readers. */
import { type ForeignText, foreign } from './foreign-text.ts';
import { type Attributes, attributes, type Html, html, joinHtml, onPage } from './html.ts';
import { icons } from './icons.ts';
import type { Translator } from './translator.ts';

/** Id of the accepting form. Fields are above the match code and refer to the form by id (HTML `form` attribute). */
export const answerFormId = 'answer';

/** The notes of one field, as translated text. */
export interface FieldNotes {
  readonly name: string;
  readonly label: ForeignText;
  readonly optional: boolean;
  /** Text of the MCP server. */
  readonly help?: Html | undefined;
  /** Text of the gateway. */
  readonly hint?: Html | undefined;
  readonly fault?: Html | undefined;
}

/** Returns the link target of a field: its first input. */
export function fieldId(name: string): string {
  return `field-${name}`;
}

/**
 * Returns the attributes of every input of a field. Omits `maxlength`, which silently truncates pasted text and counts
 * differently from the gateway.
 */
export function inputAttributes(
  notes: FieldNotes,
  more: Readonly<Record<string, string | number | boolean | undefined>>,
): Attributes {
  return attributes({
    id: fieldId(notes.name),
    name: `field.${notes.name}`,
    form: answerFormId,
    required: !notes.optional,
    'aria-invalid': notes.fault === undefined ? undefined : 'true',
    'aria-describedby': describedBy(notes),
    ...more,
  });
}

function describedBy({ name, help, hint, fault }: FieldNotes): string | undefined {
  const ids = [
    fault === undefined ? undefined : `fault-${name}`,
    help === undefined ? undefined : `help-${name}`,
    hint === undefined ? undefined : `hint-${name}`,
  ].filter(id => id !== undefined);
  return ids.length === 0 ? undefined : ids.join(' ');
}

/** Renders a field with one input. */
export function labelledField(notes: FieldNotes, input: Html, t: Translator): Html {
  return html`<div class="field"><label for="${fieldId(notes.name)}">${labelText(notes, t)}</label>
${notesBelow(notes)}
${input}</div>
`;
}

/** Renders a field with several inputs under one label. */
export function groupedField(
  notes: FieldNotes,
  group: Readonly<Record<string, string | boolean | undefined>>,
  inputs: Html,
  t: Translator,
): Html {
  const about = attributes({ 'aria-describedby': describedBy(notes), ...group });
  return html`<fieldset class="field"${about}><legend>${labelText(notes, t)}</legend>
${notesBelow(notes)}
${inputs}</fieldset>
`;
}

function labelText({ label, optional }: FieldNotes, t: Translator): Html {
  const mark = optional ? html` <span class="optional">${t.html('fields.optional')}</span>` : undefined;
  return html`<span translate="no">${foreign(label, t)}</span>${mark}`;
}

export function notesBelow({ name, help, hint, fault }: FieldNotes): Html {
  return joinHtml([
    help === undefined ? html`` : html`<p class="hint" id="help-${name}">${help}</p>`,
    hint === undefined ? html`` : html`<p class="hint" id="hint-${name}">${hint}</p>`,
    fault === undefined
      ? html``
      : html`<p class="field-fault" id="fault-${name}">${icons.alert}<span>${fault}</span></p>`,
  ]);
}

/** Renders all fields under one heading that names the author of their texts. */
export function fieldSection(
  section: {
    readonly heading: Html;
    readonly faults?: Html | false | undefined;
    readonly fields: readonly Html[];
    readonly mcpServerName: ForeignText;
    readonly brandName: string;
    readonly safety?: Html;
  },
  t: Translator,
): Html {
  const safety =
    section.safety === undefined
      ? undefined
      : html`<p class="safety">${icons.shield}<span>${section.safety}</span></p>`;
  return html`<section class="fields" aria-labelledby="fields-heading">
<h2 id="fields-heading">${section.heading}</h2>
${section.faults || undefined}
${section.fields}
<p class="claim">${t.html('fields.note', { mcpServer: section.mcpServerName, brand: section.brandName })}</p>
${safety}
</section>`;
}

/** Renders a link to each field with a fault. The links have the focus when the page opens. */
export function faultLinks(notes: readonly FieldNotes[], t: Translator): Html | undefined {
  const links = notes
    .filter(({ fault }) => fault !== undefined)
    .map(
      ({ name, label, fault }) =>
        html`<li><a href="${onPage(fieldId(name))}"><span translate="no">${foreign(label, t)}</span></a> <span class="more">${fault}</span></li>`,
    );
  if (links.length === 0) return undefined;
  return html`<div class="faults"><p>${t.html('fields.lookAgain')}</p><ul>${links}</ul></div>`;
}
