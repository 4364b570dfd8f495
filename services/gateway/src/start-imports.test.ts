import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { z } from 'zod';

/** Imports the module that the argument names, and prints all modules that Node.js has loaded, including built-in ones. */
const script = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
  await import(process.argv[1]);
  console.log(JSON.stringify([...loaded, ...process.moduleLoadList]));
`;

test('importing the gateway loads no library that only some configurations or requests need', () => {
  const gateway = new URL('gateway.ts', import.meta.url).href;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script, gateway], {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  });
  const loaded = z.array(z.string()).parse(JSON.parse(output));
  expect(loaded).toContain(gateway);
  const libraries = /\/(prom-client|@opentelemetry\/[^/]+|bullmq|undici|stripe|@simplewebauthn\/server|ajv)\//;
  expect(loaded.flatMap(module => libraries.exec(module)?.[1] ?? [])).toEqual([]);
});
