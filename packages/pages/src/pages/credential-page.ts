import { type DecisionView, decisionPage } from '../decision-page.ts';
import { asTyped, secretInput, secretText } from '../field-controls.ts';
import { credentialFaultText } from '../field-texts.ts';
import type { CredentialFieldView } from '../field-views.ts';
import { answerFormId, type FieldNotes, faultLinks, fieldSection, inputAttributes, labelledField } from '../fields.ts';
import { type ForeignText, foreign } from '../foreign-text.ts';
import { type Html, html } from '../html.ts';
import { icons } from '../icons.ts';
import { hostText, iconMark, operatorNotice, paragraphs } from '../parts.ts';
import { shortName } from '../text-width.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

/** Result of the last attempt, if the user has to decide again. */
export type CredentialNotice =
  /** The credential does not work at `checkedAt`. */
  | 'credential_rejected'
  /** `checkedAt` did not respond. */
  | 'check_unavailable'
  /** The fields show their faults. */
  | 'fields_invalid'
  /** The request has changed since the page was shown. */
  | 'terms_changed';

export interface CredentialView extends DecisionView {
  readonly credential: {
    /** Description by the MCP server. */
    readonly title: ForeignText;
    readonly fields: readonly CredentialFieldView[];
    /** Stored until the user deletes it. */
    readonly lasting: boolean;
    /** Replaces a credential that the user entered before and that the MCP server reports as rejected. */
    readonly replaces: boolean;
    /** Host of the credential check, in the form of `displayHost`. */
    readonly checkedAt?: string;
  };
  readonly notice?: CredentialNotice;
}

/**
 * Asks for a credential. The browser only checks that no field is empty, so the user need not retype secrets after a
 * slip. The gateway checks the rest. The page never contains a secret.
 */
export function credentialPage(context: PageContext, view: CredentialView): string {
  const t = translatorFor(context);
  const { credential, notice } = view;
  const names = { mcpServer: view.mcpServer.name, brand: context.branding.name };
  const fields = credential.fields.map(field => ({ field, notes: notesOf(field, t) }));
  const heading = t.plain('credential.heading', names);
  return decisionPage(context, t, view, {
    title: notice === 'fields_invalid' ? t.plain('fields.check', { page: heading }) : heading,
    heading: t.html('credential.heading', names),
    headingText: heading,
    counterpart: iconMark(icons.key),
    lead: lead(credential, { ...names, mcpServer: shortName(names.mcpServer) }, t),
    hasFaults: notice === 'fields_invalid',
    notice: notice && noticeBlock(context, notice, view, t),
    facts: fieldSection(
      {
        heading: html`<span translate="no">${foreign(credential.title, t)}</span>`,
        faults:
          notice === 'fields_invalid' &&
          faultLinks(
            fields.map(({ notes }) => notes),
            t,
          ),
        fields: fields.map(({ field, notes }) => labelledField(notes, input(field, notes, t), t)),
        mcpServerName: names.mcpServer,
        brandName: names.brand,
        safety: t.html('credential.safety'),
      },
      t,
    ),
    acceptForm: { id: answerFormId, novalidate: false },
    waitsForOperator: notice === 'check_unavailable' && context.operatorReference !== undefined,
    acceptLabel: t.html(credential.lasting ? 'credential.save' : 'credential.send'),
    reassurance: t.html('credential.reassurance'),
  });
}

function lead(
  { lasting, replaces, checkedAt }: CredentialView['credential'],
  names: { mcpServer: ForeignText; brand: string },
  t: Translator,
): Html[] {
  return [
    ...(replaces ? [t.html('credential.replaces', names)] : []),
    t.html(lasting ? 'credential.lasting' : 'credential.once', names),
    ...(checkedAt === undefined ? [] : [t.html('credential.checked', { ...names, host: hostText(checkedAt) })]),
  ];
}

function notesOf(field: CredentialFieldView, t: Translator): FieldNotes {
  const hint = ownNotes(field, t);
  return {
    name: field.name,
    label: field.label,
    optional: false,
    help: field.help === undefined ? undefined : foreign(field.help, t),
    hint,
    fault: field.fault && credentialFaultText(field, field.fault, t),
  };
}

function ownNotes(field: CredentialFieldView, t: Translator): Html | undefined {
  const example =
    field.example === undefined
      ? undefined
      : html`${t.html('fields.example')} <code dir="ltr" translate="no">${foreign(field.example, t)}</code>`;
  if (!field.secret || field.multiline !== true) return example;
  const whole = t.html('fields.multilineSecret');
  return example === undefined ? whole : html`${whole} ${example}`;
}

function input(field: CredentialFieldView, notes: FieldNotes, t: Translator): Html {
  if (field.secret) return field.multiline === true ? secretText(notes, t) : secretInput(notes, t);
  const look = { type: 'text', autocomplete: 'off', value: field.value, ...asTyped };
  return html`<input${inputAttributes(notes, look)}>`;
}

function noticeBlock(
  context: PageContext,
  notice: CredentialNotice,
  { credential: { fields, checkedAt } }: CredentialView,
  t: Translator,
): Html {
  const secretsGone = fields.some(({ secret }) => secret) ? [t.html('fields.secretsGone')] : [];
  switch (notice) {
    case 'fields_invalid':
      return paragraphs([t.html('fields.invalid'), ...secretsGone]);
    case 'terms_changed':
      return paragraphs([t.html('fields.termsChanged'), ...secretsGone]);
    case 'credential_rejected':
      return paragraphs([
        checkedAt === undefined
          ? t.html('credential.notice.rejectedUnnamed')
          : t.html('credential.notice.rejected', { host: hostText(checkedAt) }),
      ]);
    case 'check_unavailable':
      return paragraphs([
        operatorNotice(context, t) ??
          (checkedAt === undefined
            ? t.html('credential.notice.unavailableUnnamed')
            : t.html('credential.notice.unavailable', { host: hostText(checkedAt) })),
      ]);
  }
}
