/** Servers of both frameworks that are called FastMCP, over HTTP, directly and behind the proxy. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endingWithParent } from '@postern/testkit/processes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFastMcpServer } from './fast-mcp-server.ts';
import { startProxyProcess, transparent } from './proxy-process.ts';
import { drive, type Script, type Sdk } from './recorded-drive.ts';

/** A Python that has the package `fastmcp`, such as the one of a virtual environment. */
const python = process.env['POSTERN_TEST_FASTMCP_PYTHON'] ?? 'python3';
const find = 'import importlib.util as u, sys; sys.exit(any(u.find_spec(n) is None for n in ("fastmcp", "uvicorn")))';
const hasPackage = spawnSync(python, ['-c', find]).status === 0;

const script: Script = {
  samples: { echo: { text: 'é\u2028"' }, add: { a: 1, b: 0.5 } },
  promptArguments: { name: 'Ada' },
  missingResource: 'test://nothing',
  root: '/notes',
  elicited: { action: 'accept', content: { name: 'Ada', value: 'Ada' } },
};

async function startPythonServer(): Promise<AsyncDisposable & { readonly url: URL }> {
  const child = spawn(...endingWithParent(python, [join(import.meta.dirname, 'fast_mcp_server.py')]), {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  const [port] = await once(createInterface({ input: child.stdout }), 'line');
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

interface Case {
  readonly language: string;
  readonly isHere: boolean;
  readonly start: () => Promise<AsyncDisposable & { readonly url: URL }>;
  readonly script: Script;
  readonly sdks: readonly Sdk[];
}

const cases: readonly Case[] = [
  {
    language: 'TypeScript',
    isHere: true,
    start: startFastMcpServer,
    script: {
      ...script,
      completion: { prompt: 'greet', argument: 'name', value: 'A' },
      warmUp: 'warm_up',
    },
    sdks: ['v1', 'v2'],
  },
  { language: 'Python', isHere: hasPackage, start: startPythonServer, script, sdks: ['v1', 'v2', 'modern'] },
];

describe.each(cases)('FastMCP in $language', ({ isHere, start, script, sdks }) => {
  const reason = isHere
    ? 'is the same behind the proxy'
    : 'needs POSTERN_TEST_FASTMCP_PYTHON, which names a Python with it';
  describe.skipIf(!isHere)(reason, () => {
    const stack = new AsyncDisposableStack();
    let url: URL;
    let urlOf: (upstream: string) => URL;
    beforeAll(async () => {
      ({ url } = stack.use(await start()));
      const { passing, looking } = transparent;
      const upstreams = { passing: { url: url.href, ...passing }, looking: { url: url.href, ...looking } };
      ({ urlOf } = stack.use(await startProxyProcess(upstreams)));
    });
    afterAll(() => stack.disposeAsync());

    test.each(sdks)('for an MCP client on SDK %s', async sdk => {
      const direct = await drive(sdk, url, script);
      for (const upstream of ['passing', 'looking'])
        expect(await drive(sdk, urlOf(upstream), script), upstream).toEqual(direct);
      expect(direct.length).toBeGreaterThan(20);
    });
  });
});
