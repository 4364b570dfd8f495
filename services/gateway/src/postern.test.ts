import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';

const program = fileURLToPath(new URL('postern.ts', import.meta.url));

test.each([
  [['--help'], 'stdout', 0],
  [['nonsense'], 'stderr', 2],
] as const)(
  'postern %j ends quietly, with its own exit code, when the reader of %s has gone',
  async (args, name, code) => {
    const child = spawn(process.execPath, [program, ...args]);
    child[name].destroy();
    const rest = text(name === 'stdout' ? child.stderr : child.stdout);
    expect([await once(child, 'close'), await rest]).toEqual([[code, null], '']);
  },
);

const manifestSchema = z.object({ engines: z.object({ node: z.string() }) });

test.each(['services/gateway', 'tools/demo'])(
  'the manifest of %s names the oldest Node.js that it starts with',
  folder => {
    const { engines } = manifestSchema.parse(
      JSON.parse(readFileSync(new URL(`../../../${folder}/package.json`, import.meta.url), 'utf8')),
    );
    const [, oldest] = /Postern needs Node\.js (\S+) or later/.exec(readFileSync(program, 'utf8')) ?? [];
    expect(engines.node).toBe(`>=${oldest}`);
  },
);
