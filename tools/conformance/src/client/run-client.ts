import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** What the user of the client decides. The client command reads it from `MCP_CONFORMANCE_CONTEXT`. */
export type Consent = 'accept' | 'decline';

export interface ClientRun extends AsyncDisposable {
  /** URLs that the client handed to a browser so far. */
  opened(): Promise<readonly string[]>;
  /** Resolves when the client has exited, or with `timedOut` when it was stopped. */
  readonly over: Promise<{ readonly stdout: string; readonly stderr: string; readonly timedOut: boolean }>;
}

export interface ClientRunOptions {
  /** Run by a shell, with the URL of the MCP server as its last argument. */
  readonly command: string;
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** The programs that open a URL in a browser, on Linux and macOS. */
const openers = ['xdg-open', 'open', 'sensible-browser', 'x-www-browser', 'www-browser', 'gnome-open', 'kde-open'];

/** Starts a client whose browser is a program that only writes the URL down. */
export async function startClient({ command, url, env, timeoutMs }: ClientRunOptions): Promise<ClientRun> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  const programs = join(folder, 'bin');
  const record = join(folder, 'opened');
  await mkdir(programs);
  await writeFile(record, '');
  const script = `#!/bin/sh\nfor last; do :; done\nprintf '%s\\n' "$last" >> '${record}'\n`;
  for (const name of openers) {
    await writeFile(join(programs, name), script);
    await chmod(join(programs, name), 0o755);
  }
  const child = spawn(`${command} ${url}`, {
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own process group, so that a client that hangs can be stopped with all its children.
    detached: true,
    env: {
      ...process.env,
      ...env,
      // Without a display, many clients start no browser.
      DISPLAY: process.env['DISPLAY'] ?? ':0',
      BROWSER: join(programs, 'xdg-open'),
      PATH: `${programs}${delimiter}${process.env['PATH'] ?? ''}`,
    },
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', chunk => {
      output[name] += chunk;
    });
  let timedOut = false;
  const stop = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has exited by itself.
    }
  };
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, timeoutMs);
  const over = once(child, 'close').then(() => {
    clearTimeout(timer);
    return { ...output, timedOut };
  });
  return {
    over,
    async opened() {
      const lines = (await readFile(record, 'utf8')).split('\n');
      return lines.filter(line => line !== '');
    },
    async [Symbol.asyncDispose]() {
      stop();
      await over;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
