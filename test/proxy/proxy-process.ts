import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endingWithParent } from '@postern/testkit/processes';
import { z } from 'zod';

/** The program that users run, with upstreams over HTTP. */
export interface ProxyProcess extends AsyncDisposable {
  /** Where it serves an upstream. */
  urlOf(upstream: string): URL;
}

const main = join(import.meta.dirname, '../../packages/proxy/src/main.ts');
const serves = /^postern-proxy http: serves (\{.*\})$/;
const servesSchema = z.object({ upstream: z.string(), url: z.url() });

/** @param upstreams as in its file. @throws with everything that it printed, if it ends before it serves them all */
export async function startProxyProcess(upstreams: Readonly<Record<string, object>>): Promise<ProxyProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-proxy-http-'));
  const file = join(folder, 'proxy.yaml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ http: { listen: '127.0.0.1:0' }, upstreams }));
  const child = spawn(...endingWithParent(process.execPath, [main, file]), { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  const urls = new Map<string, URL>();
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    const [, details] = serves.exec(line) ?? [];
    if (details === undefined) continue;
    const { upstream, url } = servesSchema.parse(JSON.parse(details));
    urls.set(upstream, new URL(url));
    if (urls.size === Object.keys(upstreams).length) break;
  }
  if (urls.size < Object.keys(upstreams).length) throw new Error(`the proxy ended:\n${lines.join('\n')}`);
  // What it logs later is not read, and must not stop it.
  child.stderr.resume();
  return {
    urlOf(upstream) {
      const url = urls.get(upstream);
      if (url === undefined) throw new TypeError(`an upstream: ${upstream}`);
      return url;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Files that change nothing of what passes. One looks at nothing, the other into every message. */
export const transparent = {
  passing: { default: 'pass' },
  looking: {
    default: 'pass',
    trustAnnotations: true,
    rules: [
      { tools: 'no_such_tool', hide: true },
      { tools: 'no_such_tool_either', when: { type: 'object', required: ['x'] }, deny: true },
    ],
  },
} as const;
