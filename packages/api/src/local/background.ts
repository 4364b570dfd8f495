import type { System } from './system.ts';

/**
 * Variables that a gateway in the background gets: those without which a process does not run, where the person's folders are, and which
 * certificate authorities Node.js trusts. Everything else in the environment of an MCP server, such as its credentials, is its own.
 * A proxy is none of them: the gateway takes it only from `outbound.proxy`, and its address may contain a password.
 */
const HANDED_DOWN: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'TZ', 'TMPDIR', 'XDG_RUNTIME_DIR', 'ELECTRON_RUN_AS_NODE'],
  // Node.js reads the last two only with NODE_USE_SYSTEM_CA.
  ...['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'USERPROFILE', 'LOCALAPPDATA', 'APPDATA', 'TEMP', 'TMP', 'USERNAME', 'PATHEXT'],
];

/**
 * Options of V8 for a process that waits nearly always, beside everything else on the machine of one person: no optimizing compilers,
 * which are 9 MB with their code, and room for young objects as it needs it, not as the start did. A page takes some milliseconds longer.
 */
export const LITTLE_MEMORY = ['--no-opt', '--no-maglev', '--max-semi-space-size=1'] as const;

/** How a program is started so that it outlives this process, its terminal and its process group. */
export function backgroundOptions(folder: string, { env, platform }: System) {
  const variables = Object.entries(env).filter(([name]) =>
    HANDED_DOWN.includes(platform === 'win32' ? name.toUpperCase() : name),
  );
  return {
    // `detached` is a session of its own on POSIX. On Windows it would open a console, which `windowsHide` hides.
    ...({ detached: true, windowsHide: true, stdio: 'ignore', cwd: folder } as const),
    env: { ...Object.fromEntries(variables), POSTERN_HOME: folder },
  };
}
