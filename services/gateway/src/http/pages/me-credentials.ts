import { type BrowserSession, type Credential, NotFoundError, parseCredentialId } from '@postern/elicitation';
import type { CredentialItemView } from '@postern/pages';
import { VaultError } from '@postern/vault';
import { mayRead } from '../../registered-mcp-server.ts';
import type { PageDeps } from './page-routes.ts';

/** Where a credential is deleted. */
export const deleteCredentialPath = ({ credentialId }: Pick<Credential, 'credentialId'>) =>
  `/me/credentials/${credentialId}/delete`;

const UNREADABLE = '????-????';

/**
 * What cannot be opened any more (its key is gone, or it was altered) is still its person's to see and to delete, and hides nothing else
 * of theirs. That there is such a value is `postern vault status`'s to say.
 */
function unlessReadable(error: unknown): string {
  if (error instanceof VaultError && error.code !== 'key_service_unavailable') return UNREADABLE;
  throw error;
}

/** A person's lasting credentials, as far as this sign-in may see them. */
export function createMeCredentials({ deps, views }: PageDeps) {
  const { credentials } = deps.stores;

  /** An application vouches for its own MCP server only. */
  function isVisible({ origin }: BrowserSession, credential: Credential): boolean {
    if (!('vouchedBy' in origin)) return true;
    const mcpServer = deps.mcpServers.get(origin.vouchedBy);
    return mcpServer !== undefined && mayRead(mcpServer, credential);
  }

  /** What it is and who reads it, without opening it. */
  const saved = (credential: Credential) => ({
    title: credential.title,
    mcpServers: views.credentialReaders(credential),
  });

  async function view(credential: Credential): Promise<CredentialItemView> {
    const { updatedAt } = credential;
    return {
      ...saved(credential),
      fingerprint: await deps.credentialFlow.fingerprint(credential).catch(unlessReadable),
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

    /** The credential, if it is this person's. Unknown and foreign ones are answered alike. @throws NotFoundError */
    async theirs(browserSession: BrowserSession, value: string): Promise<Credential> {
      const credentialId = parseCredentialId(value);
      const all = credentialId === undefined ? [] : await credentials.list(browserSession.subject);
      const found = all.find(credential => credential.credentialId === credentialId);
      if (found === undefined || !isVisible(browserSession, found)) throw new NotFoundError('credential');
      return found;
    },
  };
}
