import { type BrowserSession, type Credential, NotFoundError, parseCredentialId } from '@postern/elicitation';
import { type CredentialItemView, credentialDeletedPage, deleteCredentialPage } from '@postern/pages';
import type { RedisStores } from '@postern/store-redis';
import { VaultError } from '@postern/vault';
import type { FastifyPluginAsync } from 'fastify';
import type { CredentialFlow } from '../entries/credential-flow.ts';
import { type AccountGuardDeps, createAccountGuard, ignoreMissing } from '../identity/account-guard.ts';
import { mayRead, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { PageKit } from '../pages/page-kit.ts';

const deleteCredentialPath = ({ credentialId }: Pick<Credential, 'credentialId'>) =>
  `/me/credentials/${credentialId}/delete`;

const UNREADABLE = '????-????';

/**
 * Replaces the fingerprint of a credential that does not open, because its key is missing or the record was altered. The user still sees
 * and deletes it. `postern vault status` reports such records to the operator.
 */
function unreadableFingerprint(error: unknown): string {
  if (error instanceof VaultError && error.code !== 'key_service_unavailable') return UNREADABLE;
  throw error;
}

export interface MeCredentialsDeps {
  readonly stores: Pick<RedisStores, 'credentials'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly credentialFlow: Pick<CredentialFlow, 'fingerprint'>;
}

/** Creates views of the user's lasting credentials that this browser session may see. */
export function createMeCredentials({ deps, views }: PageKit<MeCredentialsDeps>) {
  const { credentials } = deps.stores;

  /** A browser session verified by an application sees only what the MCP server of that application may use. */
  function isVisible({ origin }: BrowserSession, credential: Credential): boolean {
    if (!('vouchedBy' in origin)) return true;
    const mcpServer = deps.mcpServers.get(origin.vouchedBy);
    return mcpServer !== undefined && mayRead(mcpServer, credential);
  }

  /** Title and readers, without opening the credential. */
  const saved = (credential: Credential) => ({
    title: credential.title,
    mcpServers: views.credentialReaders(credential),
  });

  async function view(credential: Credential): Promise<CredentialItemView> {
    const { updatedAt } = credential;
    return {
      ...saved(credential),
      fingerprint: await deps.credentialFlow.fingerprint(credential).catch(unreadableFingerprint),
      savedAt: new Date(updatedAt),
      ...views.lastUse(credential),
      deleteHref: deleteCredentialPath(credential),
    };
  }

  return {
    saved,
    view,

    async list(browserSession: BrowserSession): Promise<CredentialItemView[]> {
      const all = await credentials.list(browserSession.subject);
      return Promise.all(all.filter(credential => isVisible(browserSession, credential)).map(view));
    },

    /** Returns a credential of this user. @throws NotFoundError also for a credential of another user */
    async findOwn(browserSession: BrowserSession, value: string): Promise<Credential> {
      const credentialId = parseCredentialId(value);
      const all = credentialId === undefined ? [] : await credentials.list(browserSession.subject);
      const found = all.find(credential => credential.credentialId === credentialId);
      if (found === undefined || !isVisible(browserSession, found)) throw new NotFoundError('credential');
      return found;
    },
  };
}

interface CredentialById {
  Params: { credentialId: string };
}

export interface MeCredentialRoutesDeps extends AccountGuardDeps, MeCredentialsDeps {
  readonly credentialFlow: Pick<CredentialFlow, 'fingerprint' | 'delete'>;
}

/** Deleting a lasting credential at `/me`. */
export const meCredentialRoutes: FastifyPluginAsync<PageKit<MeCredentialRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { guardGet, guardPost } = createAccountGuard(pages);
  const credentials = createMeCredentials(pages);

  app.get<CredentialById>('/me/credentials/:credentialId/delete', (request, reply) =>
    guardGet(request, reply, async browserSession => {
      const credential = await credentials.findOwn(browserSession, request.params.credentialId);
      return reply.send(
        deleteCredentialPage(views.context(request), {
          ...(await credentials.view(credential)),
          deleteAction: deleteCredentialPath(credential),
          keepHref: '/me',
          csrfToken: browser.csrfToken(browserSession.id),
        }),
      );
    }),
  );

  app.post<CredentialById>('/me/credentials/:credentialId/delete', (request, reply) =>
    guardPost(request, reply, async browserSession => {
      const credential = await credentials.findOwn(browserSession, request.params.credentialId).catch(ignoreMissing);
      if (credential === undefined) return reply.redirect('/me', 303);
      await deps.credentialFlow.delete(credential, 'person').catch(ignoreMissing);
      const saved = credentials.saved(credential);
      return reply.send(credentialDeletedPage(views.context(request), { ...saved, backHref: '/me' }));
    }),
  );
};
