import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

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
