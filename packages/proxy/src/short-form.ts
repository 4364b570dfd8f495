/** What the arguments alone say of a server. */

/** The arguments, the file or the environment are wrong. The text says what to do, and has no secret. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The environment of a server that stands where the MCP client has put this proxy: all of it but the gateway's key. */
export function wholeEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('POSTERN_')));
}

/** Programs that run another one, and their words before its name. */
const RUNNERS = /^(?:npx|bunx|uvx|pnpx|node|python3?|deno|pnpm|yarn|npm|uv|pipx|bun|cmd)(?:\.exe|\.cmd)?$/;
const WORDS = new Set(['run', 'exec', 'dlx', 'tool', 'x', '/c']);

/** Names of files and folders that many servers have. */
const GENERIC = /^(?:index|main|server|cli|dist|build|src|lib|bin|out)$/;

/** A name for the server of a command: of its package or file. */
export function nameOf([program = '', ...args]: readonly string[]): string {
  const parts = (path: string) =>
    path
      .split(/[\\/]/)
      .map(part => (part.split(/[@=]/, 2)[part.startsWith('@') ? 1 : 0] ?? '').replace(/\.[a-z]{1,4}$/i, ''));
  const base = (path: string) => parts(path).findLast(part => part !== '' && !GENERIC.test(part)) ?? '';
  const isRunner = RUNNERS.test(base(program));
  const own = isRunner ? args.find(arg => !arg.startsWith('-') && !WORDS.has(arg) && !RUNNERS.test(arg)) : undefined;
  const name = base(own ?? program)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, 64);
  return /[A-Za-z0-9]/.test(name) ? name : 'mcp-server';
}
