import {
  type Elicitation,
  type ElicitationService,
  isSamePerson,
  isTerminal,
  parseElicitationId,
  SHARDS,
  type Stores,
} from '@postern/elicitation';
import { openRequestsPage } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { type AccountGuardDeps, csrfFormSchema } from '../identity/account-guard.ts';
import { assertSameOrigin, BASE_FORM_LIMITS, PageError, readFormBody } from '../pages/page-request.ts';
import type { PageKit } from '../pages/page-views.ts';
import { declineAll } from './me-mcp-server-routes.ts';

const DECLINE_PATH = '/me/decline-open';
/** Open elicitations of one shard that a page counts, and that one press declines. */
const PER_SHARD = 1_000;
const visitor = { kind: 'loopback' } as const;

export interface LoopbackMeRoutesDeps {
  readonly config: AccountGuardDeps['config'];
  readonly stores: Pick<Stores, 'lists'>;
  readonly service: Pick<ElicitationService, 'find' | 'decline'>;
}

/**
 * `/me` of a gateway for one machine, which has no sign-in: declines what is open, such as what a test run left. It shows neither contents
 * nor links, so that the link of an elicitation stays the only way to answer it.
 */
export const loopbackMeRoutes: FastifyPluginAsync<PageKit<LoopbackMeRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;

  async function listOpen(): Promise<readonly Elicitation[]> {
    const open: Elicitation[] = [];
    for (const shard of SHARDS) {
      const entries = await deps.stores.lists.page({ list: 'open', shard, before: undefined, limit: PER_SHARD });
      // One after the other: a burst of replies would hold the event loop.
      for (const { id } of entries) {
        const elicitationId = parseElicitationId(id);
        const found = elicitationId && (await deps.service.find(elicitationId));
        if (found !== undefined && !isTerminal(found) && isSamePerson(found, visitor)) open.push(found);
      }
    }
    return open;
  }

  app.get('/', (_, reply) => reply.redirect('/me', 303));

  app.get('/me', async (request, reply) =>
    reply.send(
      openRequestsPage(views.context(request), {
        count: (await listOpen()).length,
        declineAction: DECLINE_PATH,
        csrfToken: browser.csrfToken(browser.ensureId(request, reply)),
      }),
    ),
  );

  app.post(DECLINE_PATH, async (request, reply) => {
    assertSameOrigin(request, deps.config.publicUrl);
    const form = csrfFormSchema.safeParse(await readFormBody(request, BASE_FORM_LIMITS));
    if (!form.success) throw new PageError('bad_request');
    if (!browser.isCsrfToken(form.data.csrf_token, browser.ensureId(request, reply))) throw new PageError('forbidden');
    await declineAll(deps.service, await listOpen(), visitor);
    return reply.redirect('/me', 303);
  });
};
