/** Name and password of a Redis user. */
export interface RedisLogin {
  readonly name: string;
  readonly password: string;
}

/** Users of a Redis. The testkit adds its own user with all permissions. */
export interface RedisAccess {
  /** Lines of an ACL file. Without one for `default`, that user is off. */
  readonly lines: readonly string[];
  /** The user in the URLs. */
  readonly user: RedisLogin;
  /** The user of replicas at their master. Default: the testkit's own user. */
  readonly replica?: RedisLogin;
  /** The user of Sentinels at the servers that they watch. Default: the testkit's own user. */
  readonly sentinel?: RedisLogin;
}

/** The user with all permissions, if the server has users. */
export const admin: RedisLogin = { name: 'testkit', password: 'testkit-may-do-everything' };

/** Returns the ACL file. */
export function aclFileOf({ lines }: RedisAccess): string {
  // Even a disabled user needs all permissions: Redis replays its append-only file as this user.
  const ours = lines.some(line => line.startsWith('user default ')) ? [] : ['user default off ~* &* +@all'];
  return [...ours, `user ${admin.name} on >${admin.password} ~* &* +@all`, ...lines, ''].join('\n');
}
