import { type DecisionView, decisionPage } from '../decision-page.ts';
import { formControl, formFieldNotes, yesNoButtons } from '../field-controls.ts';
import type { FormFieldView } from '../field-views.ts';
import { answerFormId, faultLinks, fieldSection } from '../fields.ts';
import { type ForeignText, foreign } from '../foreign-text.ts';
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { iconMark, paragraphs } from '../parts.ts';
import { shortName } from '../text-width.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

/** Why the user has to answer again. */
export type FormNotice =
  /** The fields show their faults. */
  | 'fields_invalid'
  /** The request has changed since the page was shown. */
  | 'terms_changed';

export interface FormView extends DecisionView {
  readonly form: {
    /** Description by the MCP server. */
    readonly title?: ForeignText;
    readonly fields: readonly FormFieldView[];
  };
  readonly notice?: FormNotice;
}

/**
 * Asks questions. The gateway checks the answers, not the browser (`novalidate`): the browser's bubbles show one fault
 * at a time, use the language of the browser instead of the page's, and disappear before users have read them. A form
 * with secrets is also checked in the browser, because after each refusal by the gateway the user must retype them.
 */
export function formPage(context: PageContext, view: FormView): string {
  const t = translatorFor(context);
  const { form, notice } = view;
  const names = { mcpServer: view.mcpServer.name, brand: context.branding.name };
  const isOne = form.fields.length === 1;
  const key = isOne ? 'form.headingOne' : 'form.heading';
  const heading = t.plain(key, names);
  const hasSecret = form.fields.some(field => field.control === 'text' && field.secret === true);
  const fields = form.fields.map(field => ({ field, notes: formFieldNotes(field, t) }));
  const secretsGone = hasSecret ? [t.html('fields.secretsGone')] : [];
  const notes = fields.map(field => field.notes);
  const yesNo = form.fields.find(field => field.control === 'yes-no');
  return decisionPage(context, t, view, {
    title: notice === 'fields_invalid' ? t.plain('fields.check', { page: heading }) : heading,
    heading: t.html(key, names),
    headingText: heading,
    counterpart: iconMark(icons.list),
    lead: t.html(hasSecret ? 'form.leadSecret' : 'form.lead', { ...names, mcpServer: shortName(names.mcpServer) }),
    hasFaults: notice === 'fields_invalid',
    notice:
      notice &&
      paragraphs([t.html(notice === 'fields_invalid' ? 'fields.invalid' : 'fields.termsChanged'), ...secretsGone]),
    facts: fieldSection(
      {
        heading:
          form.title === undefined
            ? t.html('form.questions', { count: form.fields.length })
            : html`<span translate="no">${foreign(form.title, t)}</span>`,
        faults: notice === 'fields_invalid' && faultLinks(notes, t),
        fields: fields.map(({ field, notes: itsNotes }) => formControl(field, itsNotes, t)),
        mcpServerName: names.mcpServer,
        brandName: names.brand,
        ...(yesNo === undefined && { safety: t.html(hasSecret ? 'credential.safety' : 'form.safety') }),
      },
      t,
    ),
    acceptForm: { id: answerFormId, novalidate: !hasSecret },
    acceptLabel: t.html('form.send'),
    acceptButtons: yesNo && yesNoButtons(yesNo, t),
    reassurance: t.html('form.reassurance'),
  });
}
