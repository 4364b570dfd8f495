import { spawn } from 'node:child_process';

/** Opens an address the person has consented to. @returns whether a browser could be asked to */
export type OpenUrl = (href: string) => Promise<boolean>;

type Command = readonly [program: string, ...args: string[]];
type Spawn = (program: string, args: readonly string[]) => Promise<boolean>;

/** The desktop's own opener: the system browser, which neither the host nor a model can read. */
const openers: Readonly<Record<string, Command>> = {
  darwin: ['open'],
  linux: ['xdg-open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

export interface BrowserOptions {
  readonly platform?: NodeJS.Platform;
  readonly env?: NodeJS.ProcessEnv;
  /** A program and its first arguments, in place of the desktop's opener. */
  readonly command?: Command;
  readonly spawn?: Spawn;
}

/** The URL is one argument of the argument vector; no shell reads it. Only web addresses are passed on. */
export function systemBrowser(options: BrowserOptions = {}): OpenUrl {
  const { platform = process.platform, env = process.env, spawn: start = spawnDetached } = options;
  const command = options.command ?? openers[platform];
  const hasDesktop =
    options.command !== undefined || platform !== 'linux' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
  return async href => {
    const url = URL.parse(href);
    if (command === undefined || !hasDesktop || url === null || !/^https?:$/.test(url.protocol)) return false;
    const [program, ...args] = command;
    return await start(program, [...args, url.href]);
  };
}

async function spawnDetached(program: string, args: readonly string[]): Promise<boolean> {
  const child = spawn(program, args, { stdio: 'ignore', detached: true, shell: false });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.once('spawn', () => resolve(true));
  child.once('error', () => resolve(false));
  const isStarted = await promise;
  child.unref();
  return isStarted;
}
