import { type FormFields, formTextsSchema, requestedSchemaSchema } from '@postern/api/form';
import { type ElicitationOf, type ElicitationService, RequestChangedError } from '@postern/elicitation';
import { type FormNotice, formDonePage, formPage } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import { decisionView, type KindPages, type PageRequest, type VisitOf } from '../pages/page-guard.ts';
import type { PageKit } from '../pages/page-views.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import { type FormTry, formFieldViews, readFormEntry } from './form-field-views.ts';
import type { Patterns } from './patterns.ts';
import type { SubmissionFlow } from './submission-flow.ts';

export interface FormPagesDeps {
  readonly service: Pick<ElicitationService, 'assertSamePerson'>;
  readonly submissionFlow: SubmissionFlow;
  readonly patterns: Pick<Patterns, 'matches'>;
}

/** The pages of a form, which an MCP server describes with MCP's restricted JSON Schema. */
export function createFormPages(pages: PageKit<FormPagesDeps>): KindPages<'form'> {
  const { deps, views } = pages;
  // Checked when issued; parsed again because it comes from the store.
  const schemaOf = ({ request }: ElicitationOf<'form'>) => requestedSchemaSchema.parse(request.requestedSchema);

  function sendOpenPage(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'form'>,
    notice: FormNotice | undefined,
    tried?: FormTry,
  ): FastifyReply {
    const { elicitation } = visit;
    const { title, secretFields, texts } = elicitation.request;
    const context = views.context(request);
    return reply.send(
      formPage(context, {
        ...decisionView(pages, visit, views.shownDigest(elicitation)),
        form: {
          title,
          fields: formFieldViews(schemaOf(elicitation), secretFields, tried, {
            locale: context.locale,
            texts: formTextsSchema.parse(texts ?? {}),
          }),
        },
        notice,
      }),
    );
  }

  return {
    showOpen: async (request, reply, visit) => sendOpenPage(request, reply, visit, undefined),

    async showCompleted(request, reply, { elicitation }) {
      return reply.send(
        formDonePage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          ...views.wayBack(elicitation, request),
        }),
      );
    },

    async accept(request, reply, visit, { typed, shown = '' }) {
      const { elicitation, visitor } = visit;
      const { elicitationId } = elicitation;
      deps.service.assertSamePerson(elicitation, visitor);
      if (elicitation.status !== 'pending') return reply.redirect(elicitationPath(elicitationId), 303);
      const fields: FormFields = Object.fromEntries(typed);
      const { content, faults } = await readFormEntry(schemaOf(elicitation), fields, (pattern, text) =>
        deps.patterns.matches(elicitation.mcpServerId, { pattern, text, part: 'any' }),
      );
      if (content === undefined || faults.length > 0)
        return sendOpenPage(request, reply.code(422), visit, 'fields_invalid', { fields, faults });
      try {
        await deps.submissionFlow.form(elicitation, { visitor, shown }, content);
      } catch (error) {
        if (!(error instanceof RequestChangedError)) throw error;
        return sendOpenPage(request, reply.code(409), visit, 'terms_changed', { fields, faults: [] });
      }
      return reply.redirect(elicitationPath(elicitationId), 303);
    },
  };
}
