/** Who signs in. */
export interface RedisLogin {
  readonly name: string;
  readonly password: string;
}

/** Users of a Redis, to which the testkit adds one of its own that may do everything. */
export interface RedisAccess {
  /** Lines of an ACL file. Without one for `default`, that user is off. */
  readonly lines: readonly string[];
  /** Whose name and password stand in the URLs. */
  readonly user: RedisLogin;
  /** As whom replicas sign in at their master. Default: the testkit's own user. */
  readonly replica?: RedisLogin;
  /** As whom Sentinels sign in at what they watch. Default: the testkit's own user. */
  readonly sentinel?: RedisLogin;
}

/** Who may do everything, where there are users at all. */
export const admin: RedisLogin = { name: 'testkit', password: 'testkit-may-do-everything' };

/** The whole ACL file. */
export function aclFileOf({ lines }: RedisAccess): string {
  // Off, it still needs all permissions: Redis replays its append-only file as this user.
  const ours = lines.some(line => line.startsWith('user default ')) ? [] : ['user default off ~* &* +@all'];
  return [...ours, `user ${admin.name} on >${admin.password} ~* &* +@all`, ...lines, ''].join('\n');
}
