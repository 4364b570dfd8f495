import { type BrowserSession, type Credential, NotFoundError, parseCredentialId } from '@postern/elicitation';
import { type CredentialItemView, credentialDeletedPage, deleteCredentialPage } from '@postern/pages';
import { VaultError } from '@postern/vault';
import type { FastifyPluginAsync } from 'fastify';
import type { CredentialFlow } from '../entries/credential-flow.ts';
import { type AccountGuardDeps, createAccountGuard, ignoreMissing } from '../identity/account-guard.ts';
import type { PageKit } from '../pages/page-views.ts';
import { type AccountScopeDeps, createAccountScope } from './account-scope.ts';

const deleteCredentialPath = ({ credentialId }: Pick<Credential, 'credentialId'>) =>
  `/me/credentials/${credentialId}/delete`;

const UNREADABLE = '????-????';

/**
 * Replaces the fingerprint of a credential that does not open, because its key is missing, its key service is away or the record was
 * altered. The user still sees and deletes it. `postern vault status` reports lost keys and altered records to the operator.
 */
function unreadableFingerprint(error: unknown): string {
  if (error instanceof VaultError) return UNREADABLE;
  throw error;
}

export interface MeCredentialsDeps extends AccountScopeDeps {
  readonly credentialFlow: Pick<CredentialFlow, 'fingerprint'>;
}

/** Creates views of the user's lasting credentials that this browser session may see. */
export function createMeCredentials({ deps, views }: PageKit<MeCredentialsDeps>) {
  const scope = createAccountScope({ deps });

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
      return Promise.all((await scope.credentials(browserSession)).map(view));
    },

    /** Returns a credential of this user. @throws NotFoundError also for a credential of another user */
    async findOwn(browserSession: BrowserSession, value: string): Promise<Credential> {
      const credentialId = parseCredentialId(value);
      const all = credentialId === undefined ? [] : await scope.credentials(browserSession);
      const found = all.find(credential => credential.credentialId === credentialId);
      if (found === undefined) throw new NotFoundError('credential');
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
