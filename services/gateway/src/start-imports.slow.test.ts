import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@postern/testkit/processes';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { GatewayConfigInput } from './platform/config/config-schema.ts';
import { sampleConfig, sampleConsole, sampleMcpServer } from './testing/sample-config.ts';

/** `loaded` has all modules that Node.js has loaded so far, including built-in ones. */
const record = `
  import { registerHooks } from 'node:module';
  const own = [];
  registerHooks({ load(url, context, next) { own.push(url); return next(url, context); } });
  const loaded = () => [...own, ...process.moduleLoadList];
`;

function modulesOf(script: string, ...args: readonly string[]): string[][] {
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', record + script, ...args], {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  });
  return z.array(z.array(z.string())).parse(JSON.parse(output));
}

const urlOf = (module: string) => new URL(module, import.meta.url).href;
const found = (modules: readonly string[] | undefined, pattern: RegExp) => [
  ...new Set(modules?.flatMap(module => pattern.exec(module)?.[1] ?? [])),
];

const libraries =
  /\/(prom-client|@opentelemetry\/[^/]+|bullmq|undici|stripe|@simplewebauthn\/server|ajv|d3-scale|d3-shape)\//;
const languages = /\/languages\/(de|fr|es|ja|ar|zh-Hans|zh-Hant)\/index\.ts$/;
const consoleApp = /\/(console-app)\.ts$/;

test('importing the gateway with Redis loads no library that only some configurations or requests need', () => {
  const gateway = urlOf('gateway.ts');
  const [loaded] = modulesOf(
    'for (const module of process.argv.slice(1)) await import(module); console.log(JSON.stringify([loaded()]));',
    gateway,
    urlOf('platform/redis/open-redis-stores.ts'),
  );
  expect(loaded).toContain(gateway);
  expect(found(loaded, /\/(ioredis)\//)).toEqual(['ioredis']);
  expect(found(loaded, libraries)).toEqual([]);
  expect(found(loaded, /^(?:NativeModule|Internal Binding) (sqlite)$/)).toEqual([]);
});

/** Starts a gateway, and prints what is loaded then, after a German page, and after a page of the console; last, an unknown page in French. */
const startAndAsk = `
  const [gateway, loading, logging, document] = process.argv.slice(1);
  const [{ startGateway }, { parseConfig }, { createLogger }] =
    await Promise.all([gateway, loading, logging].map(module => import(module)));
  const running = await startGateway(parseConfig(JSON.parse(document)), { logger: createLogger({ level: 'silent' }) });
  const phases = [loaded()];
  for (const address of [running.address, running.console.address]) {
    await (await fetch(address + '/login', { headers: { accept: 'text/html', 'accept-language': 'de' } })).text();
    phases.push(loaded());
  }
  const unknown = await fetch(running.address + '/nowhere', { headers: { accept: 'text/html', 'accept-language': 'fr' } });
  phases.push([String(unknown.status), /<html lang="(\\w+)"/.exec(await unknown.text())?.[1] ?? 'none']);
  await running.close();
  console.log(JSON.stringify(phases));
`;

test('a gateway on a file runs without a library of Redis, and loads languages and console when they are asked for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-imports-'));
  const port = await freePort();
  const { redis: _, identityProviders: __, ...sample } = sampleConfig();
  const config: GatewayConfigInput = {
    ...sample,
    publicUrl: `http://127.0.0.1:${port}`,
    listen: { host: '127.0.0.1', port },
    store: { file: join(folder, 'postern.sqlite') },
    console: {
      ...sampleConsole,
      publicUrl: 'http://localhost:8090',
      listen: { host: '127.0.0.1', port: await freePort() },
    },
    mcpServers: [{ ...sampleMcpServer, identity: { mode: 'loopback' } }],
  };
  try {
    const modules = ['gateway.ts', 'platform/config/load-config.ts', 'platform/logger.ts'].map(urlOf);
    const [atStart, afterPage, afterConsole, unknown] = modulesOf(startAndAsk, ...modules, JSON.stringify(config));
    expect(found(atStart, libraries)).toEqual([]);
    expect(found(atStart, /\/(ioredis|open-redis-stores\.ts)/)).toEqual([]);
    expect(found(atStart, /^NativeModule internal\/deps\/(undici)/)).toEqual([]);
    expect(found(atStart, /^NativeModule (sqlite)$/)).toEqual(['sqlite']);
    expect([atStart, afterPage].map(phase => found(phase, languages))).toEqual([[], ['de']]);
    expect([afterPage, afterConsole].map(phase => found(phase, consoleApp))).toEqual([[], ['console-app']]);
    expect(unknown).toEqual(['404', 'fr']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 30_000);
