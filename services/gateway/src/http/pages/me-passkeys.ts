import { type BrowserSession, digestOf, NotFoundError, type Passkey } from '@postern/elicitation';
import type { PasskeyItemView } from '@postern/pages';
import { FRESH_SECONDS, isFresh } from '../../flows/freshness.ts';
import { MAX_PASSKEYS } from '../../flows/passkey-change-flow.ts';
import { passkeyHolderIn } from '../../flows/passkey-holder.ts';
import type { PageDeps } from './page-routes.ts';

/** A passkey in an address: its own id is long, and nobody else's business. */
const nameOf = ({ passkeyId }: Passkey): string => digestOf(passkeyId).slice(0, 22);

export const addPasskeyPath = '/me/passkeys/add';
export const newPasskeyPath = '/me/passkeys/new';
export const removePasskeyPath = (passkey: Passkey): string => `/me/passkeys/${nameOf(passkey)}/remove`;

/** The passkeys with which a person approves larger payments. */
export function createMePasskeys({ deps }: Pick<PageDeps, 'deps'>) {
  const { passkeys } = deps.stores;

  function view(passkey: Passkey, countsFrom?: number): PasskeyItemView {
    const { label, createdAt, lastUsedAt } = passkey;
    return {
      label,
      addedAt: new Date(createdAt),
      ...(lastUsedAt === undefined ? {} : { lastUsedAt: new Date(lastUsedAt) }),
      ...(countsFrom !== undefined && countsFrom > deps.now() ? { countsFrom: new Date(countsFrom) } : {}),
      removeHref: removePasskeyPath(passkey),
    };
  }

  /**
   * Changing them needs a recent sign-in, and an application is asked for one by the links of its MCP server only. So who comes from an
   * application sees them while there is something to be done.
   */
  const ofPerson = async (browserSession: BrowserSession): Promise<readonly Passkey[]> => {
    const isVouched = 'vouchedBy' in browserSession.origin;
    if (isVouched && !isFresh(browserSession.authTime, FRESH_SECONDS * 1000, deps.now())) return [];
    return passkeys.list(passkeyHolderIn(browserSession));
  };

  return {
    view,
    async list(
      browserSession: BrowserSession,
    ): Promise<{ readonly passkeys: PasskeyItemView[]; readonly addPasskeyHref?: string }> {
      const found = await ofPerson(browserSession);
      const countsFrom = found.length === 0 ? undefined : await passkeys.countFrom(passkeyHolderIn(browserSession));
      // The first one is added where it is needed, for a payment.
      const canAdd = found.length > 0 && found.length < MAX_PASSKEYS;
      return {
        passkeys: found.map(passkey => view(passkey, countsFrom?.at)),
        ...(canAdd ? { addPasskeyHref: addPasskeyPath } : {}),
      };
    },

    /** @throws NotFoundError */
    async theirs(browserSession: BrowserSession, name: string): Promise<Passkey> {
      const found = (await ofPerson(browserSession)).find(passkey => nameOf(passkey) === name);
      if (found === undefined) throw new NotFoundError('credential');
      return found;
    },
  };
}
