import {
  type BrowserSession,
  type Clock,
  digestOf,
  type Elicitation,
  NotFoundError,
  PASSKEY_NOTICE_MS,
  type Passkey,
  type Stores,
  type Subject,
} from '@postern/elicitation';
import type { PasskeyItemView } from '@postern/pages';
import { FRESH_SECONDS, isFresh } from '../sign-in-policy.ts';

/**
 * The subject under which a user's passkeys are stored. The subject depends on how the user was identified: by their identity provider,
 * by an application (`external`), or not at all (`loopback`). An application can vouch for any user. If passkeys were shared, a
 * compromised application could register its own passkey for users who have none, and approve elicitations of other MCP servers with it.
 */
export function passkeyOwnerOf({
  identityMode,
  mcpServerId,
  subject,
}: Pick<Elicitation, 'identityMode' | 'mcpServerId' | 'subject'>): Subject {
  switch (identityMode) {
    case 'login':
      return subject;
    case 'external':
      return namespaced(`external ${mcpServerId}`, subject);
    case 'loopback':
      return namespaced(`loopback ${mcpServerId}`, subject);
  }
}

/** The owner of the passkeys that count for approvals in this browser session. */
export function passkeyOwnerIn({ origin, subject }: Pick<BrowserSession, 'origin' | 'subject'>): Subject {
  return 'vouchedBy' in origin ? namespaced(`external ${origin.vouchedBy}`, subject) : subject;
}

/** Issuers contain no spaces, so the result never equals the subject of an identity provider. */
function namespaced(namespace: string, { issuer, subject }: Subject): Subject {
  return { issuer: namespace, subject: JSON.stringify([issuer, subject]) };
}

/** Maximum number of passkeys per user. */
export const MAX_PASSKEYS = 10;

/** Names a passkey in URLs. Its WebAuthn id is long, and should not be exposed. */
const nameOf = ({ passkeyId }: Passkey): string => digestOf(passkeyId).slice(0, 22);

export const addPasskeyPath = '/me/passkeys/add';
export const newPasskeyPath = '/me/passkeys/new';
export const renamePasskeyPath = (passkey: Passkey): string => `/me/passkeys/${nameOf(passkey)}/rename`;
export const removePasskeyPath = (passkey: Passkey): string => `/me/passkeys/${nameOf(passkey)}/remove`;

export interface MePasskeysDeps {
  readonly stores: Pick<Stores, 'passkeys'>;
  readonly now: Clock;
}

/** The user's passkeys, as `/me` lists them. */
export function createMePasskeys({ deps }: { readonly deps: MePasskeysDeps }) {
  const { passkeys } = deps.stores;

  function view(passkey: Passkey, countsFrom?: number): PasskeyItemView {
    const { label, createdAt, lastUsedAt } = passkey;
    return {
      label,
      addedAt: new Date(createdAt),
      lastUsedAt: lastUsedAt === undefined ? undefined : new Date(lastUsedAt),
      ...(countsFrom !== undefined && countsFrom > deps.now() ? { countsFrom: new Date(countsFrom) } : {}),
      renameHref: renamePasskeyPath(passkey),
      removeHref: removePasskeyPath(passkey),
    };
  }

  /**
   * Changing passkeys needs a recent sign-in. `/me` cannot request one from an application, only the links of its MCP server can. So a
   * user whom an application vouches for sees their passkeys only while the sign-in is recent.
   */
  const changeable = async (browserSession: BrowserSession): Promise<readonly Passkey[]> => {
    const isVouched = 'vouchedBy' in browserSession.origin;
    if (isVouched && !isFresh(browserSession.authTime, FRESH_SECONDS * 1000, deps.now())) return [];
    return passkeys.list(passkeyOwnerIn(browserSession));
  };

  return {
    view,
    async list(
      browserSession: BrowserSession,
    ): Promise<{ readonly passkeys: PasskeyItemView[]; readonly addPasskeyHref?: string }> {
      const found = await changeable(browserSession);
      const countsFrom = found.length === 0 ? undefined : await passkeys.countFrom(passkeyOwnerIn(browserSession));
      // The first passkey is added during a payment.
      const canAdd = found.length > 0 && found.length < MAX_PASSKEYS;
      return {
        passkeys: found.map(passkey => view(passkey, countsFrom?.at)),
        ...(canAdd ? { addPasskeyHref: addPasskeyPath } : {}),
      };
    },

    /** @throws NotFoundError */
    async find(browserSession: BrowserSession, name: string): Promise<Passkey> {
      const found = (await changeable(browserSession)).find(passkey => nameOf(passkey) === name);
      if (found === undefined) throw new NotFoundError('credential');
      return found;
    },
  };
}

/**
 * Returns when the user's passkeys last changed, if the pages must still show it: for 14 days, or until the user uses a passkey that
 * predates the change. A passkey that a thief has added cannot dismiss the notice.
 */
export function createPasskeyNotice(p: { stores: Pick<Stores, 'passkeys'>; now: Clock }) {
  return async (browserSession: BrowserSession): Promise<Date | undefined> => {
    const owner = passkeyOwnerIn(browserSession);
    const change = await p.stores.passkeys.lastChange(owner);
    if (change === undefined || p.now() - change.at >= PASSKEY_NOTICE_MS) return undefined;
    const passkeys = await p.stores.passkeys.list(owner);
    const isConfirmed = passkeys.some(
      ({ createdAt, lastUsedAt = 0 }) => createdAt < change.since && lastUsedAt > change.at,
    );
    return isConfirmed ? undefined : new Date(change.at);
  };
}
