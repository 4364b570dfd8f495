import { type ElicitationOf, type ElicitationService, RequestChangedError } from '@postern/elicitation';
import { type CredentialNotice, credentialDonePage, credentialPage, displayHost } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import { checkOf, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { decisionView, type KindPages, type PageRequest, type VisitOf } from '../pages/page-guard.ts';
import type { PageKit } from '../pages/page-views.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import { type FieldFault, readCredentialEntry } from './credential-entry.ts';
import type { Patterns } from './patterns.ts';
import type { SubmissionFlow } from './submission-flow.ts';

/** The non-secret values and the faults that the page shows again after a refused entry. */
interface PreviousEntry {
  readonly typed: ReadonlyMap<string, string | readonly string[]>;
  readonly faults?: ReadonlyMap<string, FieldFault>;
}

export interface CredentialPagesDeps {
  readonly service: Pick<ElicitationService, 'assertSamePerson'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly submissionFlow: SubmissionFlow;
  readonly patterns: Pick<Patterns, 'matches'>;
}

/** The pages of a credential: a secret that only its MCP server will see. */
export function createCredentialPages(pages: PageKit<CredentialPagesDeps>): KindPages<'credential'> {
  const { deps, views } = pages;

  function checkHost({ mcpServerId, request }: ElicitationOf<'credential'>): string | undefined {
    const check = checkOf(deps.mcpServers.get(mcpServerId), request.name);
    return check === undefined ? undefined : displayHost(new URL(check.url));
  }

  function sendOpenPage(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'credential'>,
    notice: CredentialNotice | undefined,
    tried: PreviousEntry = { typed: new Map() },
  ): FastifyReply {
    const { elicitation } = visit;
    const { title, fields, retention, rejectedGeneration } = elicitation.request;
    const checkedAt = checkHost(elicitation);
    return reply.send(
      credentialPage(views.context(request), {
        ...decisionView(pages, visit, views.shownDigest(elicitation)),
        credential: {
          title,
          lasting: retention === 'lasting',
          replaces: rejectedGeneration !== undefined,
          checkedAt,
          fields: fields.map(({ name, label, secret, help, example, multiline, maxLength }) => {
            const value = tried.typed.get(name);
            const fault = tried.faults?.get(name);
            return {
              name,
              label,
              maxLength,
              help,
              example,
              // A page never contains a secret, not even for the user who typed it.
              ...(secret
                ? { secret, multiline }
                : { secret, ...(typeof value === 'string' ? { value: value.slice(0, maxLength) } : {}) }),
              fault,
            };
          }),
        },
        notice,
      }),
    );
  }

  return {
    showOpen: async (request, reply, visit) => sendOpenPage(request, reply, visit, noticeOf(visit.elicitation)),

    async showCompleted(request, reply, { elicitation, browserSession }) {
      const isLasting = elicitation.request.retention === 'lasting';
      return reply.send(
        credentialDonePage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          title: elicitation.request.title,
          lasting: isLasting,
          ...(isLasting && browserSession !== undefined ? { connectionsHref: '/me' } : {}),
          ...views.wayBack(elicitation, request),
        }),
      );
    },

    async accept(request, reply, visit, { typed, shown = '' }) {
      const { elicitation, visitor } = visit;
      const { elicitationId } = elicitation;
      deps.service.assertSamePerson(elicitation, visitor);
      const isOpen = elicitation.status === 'pending' || elicitation.status === 'active';
      if (!isOpen) return reply.redirect(elicitationPath(elicitationId), 303);
      const { values, faults } = await readCredentialEntry(elicitation.request.fields, typed, (pattern, text) =>
        deps.patterns.matches(elicitation.mcpServerId, { pattern, text, part: 'whole' }),
      );
      if (faults !== undefined)
        return sendOpenPage(request, reply.code(422), visit, 'fields_invalid', { typed, faults });
      try {
        const submitted = await deps.submissionFlow.credential(elicitation, { visitor, shown }, values);
        if (submitted.status !== 'pending' || submitted.request.kind !== 'credential')
          return reply.redirect(elicitationPath(elicitationId), 303);
        const again = { ...visit, elicitation: { ...submitted, request: submitted.request } };
        return sendOpenPage(request, reply.code(422), again, noticeOf(again.elicitation), { typed });
      } catch (error) {
        if (!(error instanceof RequestChangedError)) throw error;
        return sendOpenPage(request, reply.code(409), visit, 'terms_changed', { typed });
      }
    },
  };
}

function noticeOf(elicitation: ElicitationOf<'credential'>): CredentialNotice | undefined {
  if (elicitation.status !== 'pending') return undefined;
  const { retryReason: reason } = elicitation;
  return reason === 'credential_rejected' || reason === 'check_unavailable' ? reason : undefined;
}
