import type { BrowserSession, Stores, Subject } from '@postern/elicitation';
import { passkeyOwnerOf } from '../identity/passkeys/user-passkeys.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import type { Actor, RecordAct } from './admin-audit.ts';
import { connectionItem, credentialItem, elicitationItem } from './record-items.ts';

export interface PeopleDeps {
  readonly stores: Pick<
    Stores,
    'connections' | 'credentials' | 'elicitations' | 'passkeys' | 'browserSessions' | 'mutes'
  >;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly pseudonym: Pseudonyms;
  readonly record: RecordAct;
}

const iso = (at: number): string => new Date(at).toISOString();

/** An operator sees all sessions of a person, also those that an application vouched for. */
export const allSessionsOf = (subject: Subject): Pick<BrowserSession, 'subject' | 'origin'> => ({
  subject,
  origin: { identityProvider: '' },
});

/** Who may have identified a person: the gateway's sign-in, and each application that vouches. */
export const vouchersOf = (mcpServers: PeopleDeps['mcpServers']): readonly (string | undefined)[] => [
  undefined,
  ...mcpServers.keys(),
];

/** What a person decided, newest first, in whichever application vouched for them. */
export async function listAllEnded(p: Pick<PeopleDeps, 'stores' | 'mcpServers'>, subject: Subject) {
  const ended = await Promise.all(
    vouchersOf(p.mcpServers).map(voucher => p.stores.elicitations.listEnded(subject, voucher)),
  );
  return ended.flat().sort((a, b) => b.endedAt - a.endedAt);
}

/** The gateway's sign-in and each application that vouches keep passkeys of their own. */
export const passkeyOwners = (mcpServers: PeopleDeps['mcpServers'], subject: Subject): readonly Subject[] => [
  passkeyOwnerOf({ identityMode: 'login', mcpServerId: '', subject }),
  ...[...mcpServers.values()]
    .filter(({ identityMode }) => identityMode !== 'login')
    .map(({ identityMode, mcpServerId }) => passkeyOwnerOf({ identityMode, mcpServerId, subject })),
];

/** The passkeys of a person, whoever identified them. */
export async function listAllPasskeys(p: Pick<PeopleDeps, 'stores' | 'mcpServers'>, subject: Subject) {
  const passkeys = await Promise.all(passkeyOwners(p.mcpServers, subject).map(owner => p.stores.passkeys.list(owner)));
  return passkeys.flat();
}

/** What operators see of one person. */
export function createPeople({ stores, mcpServers, pseudonym, record }: PeopleDeps) {
  return {
    /** Everything that exists of a person now, without secrets. A person without records is an empty report. */
    async person(actor: Actor, subject: Subject) {
      await record(actor, { event: 'admin.person_viewed', subject, what: 'person' });
      const [connections, credentials, open, ended, passkeys, sessions, mutes] = await Promise.all([
        stores.connections.list(subject),
        stores.credentials.list(subject),
        stores.elicitations.listOpen(subject, [...mcpServers.keys()]),
        listAllEnded({ stores, mcpServers }, subject),
        listAllPasskeys({ stores, mcpServers }, subject),
        stores.browserSessions.list(allSessionsOf(subject)),
        stores.mutes.list(subject),
      ]);
      return {
        person: { ...subject, pseudonym: pseudonym(subject) },
        connections: connections.map(of => connectionItem(of, pseudonym)),
        credentials: credentials.map(of => credentialItem(of, pseudonym)),
        open: open.map(of => elicitationItem(of, pseudonym)),
        ended: ended.map(of => elicitationItem(of, pseudonym)),
        passkeys: passkeys.map(({ label, createdAt, lastUsedAt }) => ({
          name: label,
          addedAt: iso(createdAt),
          lastUsedAt: lastUsedAt === undefined ? undefined : iso(lastUsedAt),
        })),
        browserSessions: sessions.map(({ browser, origin, createdAt, endsAt }) => ({
          signedInThrough: origin,
          signedInAt: iso(createdAt),
          endsAt: iso(endsAt),
          browser,
        })),
        mutedMcpServers: mutes.map(({ mcpServerId, mutedAt }) => ({ mcpServerId, mutedAt: iso(mutedAt) })),
      };
    },
  };
}

export type PersonReport = Awaited<ReturnType<ReturnType<typeof createPeople>['person']>>;
