import { spawn } from 'node:child_process';

/** The desktop's own opener; the URL is one argument, no shell reads it. */
const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  linux: ['xdg-open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** @returns whether a browser could be asked to open it */
export async function openInBrowser(href: string): Promise<boolean> {
  const [program, ...args] = openers[process.platform] ?? [];
  const hasDesktop = process.platform !== 'linux' || process.env['DISPLAY'] || process.env['WAYLAND_DISPLAY'];
  if (program === undefined || !hasDesktop) return false;
  const child = spawn(program, [...args, href], { stdio: 'ignore', detached: true });
  const isStarted = await new Promise<boolean>(resolve => {
    child.once('spawn', () => resolve(true));
    child.once('error', () => resolve(false));
  });
  child.unref();
  return isStarted;
}
