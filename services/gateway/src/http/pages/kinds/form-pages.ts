import { contentFromFields, type FormFields, requestedSchemaSchema } from '@postern/api/form';
import { type ElicitationOf, RequestChangedError } from '@postern/elicitation';
import { type FormNotice, formDonePage, formPage } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import { occursIn } from '../../../flows/patterns.ts';
import { createDecisionView } from '../decision-view.ts';
import { type FormTry, formFieldViews } from '../form-field-views.ts';
import type { PageDeps } from '../page-routes.ts';
import type { KindPages, PageRequest, PresentOf } from './kind-pages.ts';

/** Asks for what an MCP server described with MCP's restricted schema. */
export function createFormPages(pages: PageDeps): KindPages<'form'> {
  const { deps, views } = pages;
  const decisionView = createDecisionView(pages);
  // Checked when it was issued; parsed again because it comes from the store.
  const schemaOf = ({ request }: ElicitationOf<'form'>) => requestedSchemaSchema.parse(request.requestedSchema);

  function sendAsk(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'form'>,
    notice: FormNotice | undefined,
    tried?: FormTry,
  ): FastifyReply {
    const { elicitation } = present;
    const { title, secretFields } = elicitation.request;
    return reply.send(
      formPage(views.context(request), {
        ...decisionView(present, views.shownDigest(elicitation)),
        form: {
          ...(title === undefined ? {} : { title }),
          fields: formFieldViews(schemaOf(elicitation), secretFields, tried),
        },
        ...(notice === undefined ? {} : { notice }),
      }),
    );
  }

  return {
    ask: async (request, reply, present) => sendAsk(request, reply, present, undefined),

    async done(request, reply, { elicitation }) {
      return reply.send(
        formDonePage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          ...views.wayBack(elicitation),
        }),
      );
    },

    async accept(request, reply, present, { typed, shown = '' }) {
      const { elicitation, visitor } = present;
      const { elicitationId } = elicitation;
      deps.service.assertSamePerson(elicitation, visitor);
      if (elicitation.status !== 'pending') return reply.redirect(`/e/${elicitationId}`, 303);
      const fields: FormFields = Object.fromEntries(typed);
      const { content, faults } = contentFromFields(schemaOf(elicitation), fields, occursIn);
      if (content === undefined)
        return sendAsk(request, reply.code(422), present, 'fields_invalid', { fields, faults });
      try {
        await deps.submissionFlow.form(elicitation, { visitor, shown }, content);
      } catch (error) {
        if (!(error instanceof RequestChangedError)) throw error;
        return sendAsk(request, reply.code(409), present, 'terms_changed', { fields, faults: [] });
      }
      return reply.redirect(`/e/${elicitationId}`, 303);
    },
  };
}
