/** Who signs in. */
export interface RedisLogin {
  readonly name: string;
  readonly password: string;
}

/** Users of a Redis. Its `default` user is off then, and the testkit has one of its own that may do everything. */
export interface RedisAccess {
  /** Lines of an ACL file. */
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
  return ['user default off', `user ${admin.name} on >${admin.password} ~* &* +@all`, ...lines, ''].join('\n');
}
