import type { OpenIdUser } from '@postern/openid-server';

export const defaultUsers: readonly OpenIdUser[] = [
  { sub: 'alice', name: 'Alice Example', email: 'alice@example.com' },
  { sub: 'bob', name: 'Bob Example', email: 'bob@example.com' },
];

export type TestAccount = ReturnType<typeof accountOf>;

/** Adds claims to a user. `tid` and `oid` are the same at every client, even if `sub` is pairwise (as at Entra ID). */
export function accountOf(user: OpenIdUser) {
  return { ...user, preferred_username: user.sub, tid: 'tenant-1', oid: `oid-${user.sub}` };
}
