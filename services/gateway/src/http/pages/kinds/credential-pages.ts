import { type ElicitationOf, RequestChangedError } from '@postern/elicitation';
import { type CredentialNotice, credentialDonePage, credentialPage, displayHost } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import { type FieldFault, readCredentialEntry } from '../../../flows/credential-entry.ts';
import { checkOf } from '../../../registered-mcp-server.ts';
import { createDecisionView } from '../decision-view.ts';
import type { PageDeps } from '../page-routes.ts';
import type { KindPages, PageRequest, PresentOf } from './kind-pages.ts';

/** What the page shows again after a try: what was typed and is no secret, and what was wrong. */
interface Tried {
  readonly typed: ReadonlyMap<string, string | readonly string[]>;
  readonly faults?: ReadonlyMap<string, FieldFault>;
}

/** Asks for a secret that only its MCP server will see. */
export function createCredentialPages(pages: PageDeps): KindPages<'credential'> {
  const { deps, views } = pages;
  const decisionView = createDecisionView(pages);

  function checkHost({ mcpServerId, request }: ElicitationOf<'credential'>): string | undefined {
    const check = checkOf(deps.mcpServers.get(mcpServerId), request.name);
    return check === undefined ? undefined : displayHost(new URL(check.url));
  }

  function sendAsk(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'credential'>,
    notice: CredentialNotice | undefined,
    tried: Tried = { typed: new Map() },
  ): FastifyReply {
    const { elicitation } = present;
    const { title, fields, retention, rejectedGeneration } = elicitation.request;
    const checkedAt = checkHost(elicitation);
    return reply.send(
      credentialPage(views.context(request), {
        ...decisionView(present, views.shownDigest(elicitation)),
        credential: {
          title,
          lasting: retention === 'lasting',
          replaces: rejectedGeneration !== undefined,
          ...(checkedAt === undefined ? {} : { checkedAt }),
          fields: fields.map(({ name, label, secret, help, example, multiline, maxLength }) => {
            const value = tried.typed.get(name);
            const fault = tried.faults?.get(name);
            return {
              name,
              label,
              maxLength,
              ...(help === undefined ? {} : { help }),
              ...(example === undefined ? {} : { example }),
              // A secret never comes back to a page, not even to the person who typed it.
              ...(secret
                ? { secret, ...(multiline === undefined ? {} : { multiline }) }
                : { secret, ...(typeof value === 'string' ? { value: value.slice(0, maxLength) } : {}) }),
              ...(fault === undefined ? {} : { fault }),
            };
          }),
        },
        ...(notice === undefined ? {} : { notice }),
      }),
    );
  }

  return {
    ask: async (request, reply, present) => sendAsk(request, reply, present, noticeOf(present.elicitation)),

    async done(request, reply, { elicitation, browserSession }) {
      const isLasting = elicitation.request.retention === 'lasting';
      return reply.send(
        credentialDonePage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          title: elicitation.request.title,
          lasting: isLasting,
          ...(isLasting && browserSession !== undefined ? { connectionsHref: '/me' } : {}),
          ...views.wayBack(elicitation),
        }),
      );
    },

    async accept(request, reply, present, { typed, shown = '' }) {
      const { elicitation, visitor } = present;
      const { elicitationId } = elicitation;
      deps.service.assertSamePerson(elicitation, visitor);
      const { values, faults } = readCredentialEntry(elicitation.request.fields, typed);
      const isOpen = elicitation.status === 'pending' || elicitation.status === 'active';
      if (!isOpen) return reply.redirect(`/e/${elicitationId}`, 303);
      if (faults !== undefined) return sendAsk(request, reply.code(422), present, 'fields_invalid', { typed, faults });
      try {
        const submitted = await deps.submissionFlow.credential(elicitation, { visitor, shown }, values);
        if (submitted.status !== 'pending' || submitted.request.kind !== 'credential')
          return reply.redirect(`/e/${elicitationId}`, 303);
        const again = { ...present, elicitation: { ...submitted, request: submitted.request } };
        return sendAsk(request, reply.code(422), again, noticeOf(again.elicitation), { typed });
      } catch (error) {
        if (!(error instanceof RequestChangedError)) throw error;
        return sendAsk(request, reply.code(409), present, 'terms_changed', { typed });
      }
    },
  };
}

function noticeOf(elicitation: ElicitationOf<'credential'>): CredentialNotice | undefined {
  if (elicitation.status !== 'pending') return undefined;
  const { trouble } = elicitation;
  return trouble === 'credential_rejected' || trouble === 'check_unavailable' ? trouble : undefined;
}
