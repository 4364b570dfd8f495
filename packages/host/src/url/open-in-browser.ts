import { spawn } from 'node:child_process';

/** Opens a URL that the user has consented to. @returns whether a browser was started */
export type OpenUrl = (href: string) => Promise<boolean>;

type Command = readonly [program: string, ...args: string[]];
type Spawn = (program: string, args: readonly string[]) => Promise<boolean>;

/** The desktop's own opener. It starts the system browser, whose content neither the host nor a model can read. */
const openers: Readonly<Record<string, Command>> = {
  darwin: ['open'],
  linux: ['xdg-open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

export interface BrowserOptions {
  readonly platform?: NodeJS.Platform;
  readonly env?: NodeJS.ProcessEnv;
  /** A program and its first arguments. Default: the desktop's opener. */
  readonly command?: Command;
  readonly spawn?: Spawn;
}

/** Opens web addresses only. The URL is one argument of the process, never parsed by a shell. */
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
