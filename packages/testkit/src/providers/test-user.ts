export interface TestUser {
  /** Account id, and `sub` unless the provider is pairwise. */
  readonly sub: string;
  readonly name: string;
  readonly email: string;
}

export const defaultUsers: readonly TestUser[] = [
  { sub: 'alice', name: 'Alice Example', email: 'alice@example.com' },
  { sub: 'bob', name: 'Bob Example', email: 'bob@example.com' },
];

/** Claims beside `sub`. `tid` and `oid` are the same at every client, also where `sub` is pairwise (as at Entra ID). */
export function claimsOf({ sub, name, email }: TestUser) {
  return { name, email, email_verified: true, preferred_username: sub, tid: 'tenant-1', oid: `oid-${sub}` };
}
