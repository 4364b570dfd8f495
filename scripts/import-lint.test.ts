/** The lint rules of biome.imports.json refuse at the keyboard what the architecture test refuses in CI. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { root } from './child.ts';

const cases: readonly (readonly [from: string, specifier: string, verdict: 'refused' | 'allowed'])[] = [
  ['packages/elicitation/src', '@postern/vault', 'refused'],
  ['packages/elicitation/src', 'ioredis', 'refused'],
  ['packages/elicitation/src', 'fastify', 'refused'],
  ['packages/elicitation/src', '@modelcontextprotocol/sdk/types.js', 'refused'],
  ['packages/elicitation/src/deeper', 'openid-client', 'refused'],
  ['packages/api/src', '@postern/elicitation', 'refused'],
  ['packages/api/src', 'zod', 'allowed'],
  ['packages/pages/src', '@postern/elicitation', 'refused'],
  ['packages/vault/src', '@postern/elicitation', 'allowed'],
  ['packages/vault/src', '@postern/elicitation/src/ids.ts', 'refused'],
  ['packages/payment/src', '@postern/authorization', 'refused'],
  ['packages/authorization/src', '@postern/payment', 'refused'],
  ['packages/authorization/src', 'openid-client', 'allowed'],
  ['packages/authorization/src', 'ioredis', 'refused'],
  ['packages/store-redis/src', 'ioredis', 'allowed'],
  ['packages/store-redis/src', '@postern/testkit', 'refused'],
  ['packages/testkit/src', '@postern/gateway', 'refused'],
  ['packages/mcp/src', '@modelcontextprotocol/server', 'allowed'],
  ['packages/mcp/src', '@postern/api', 'allowed'],
  ['packages/mcp/src', '@postern/elicitation', 'refused'],
  ['packages/host/src', '@postern/mcp', 'refused'],
  ['services/gateway/src/http/api', '@postern/api', 'allowed'],
  ['services/gateway/src/http/api', '@postern/pages', 'refused'],
  ['services/gateway/src/http/pages', '@postern/pages', 'allowed'],
  ['services/gateway/src/http/pages', '@postern/api', 'refused'],
  ['services/gateway/src/http', 'ioredis', 'refused'],
  ['services/gateway/src', '@postern/testkit', 'refused'],
  ['services/gateway/src', 'openid-client', 'refused'],
  ['services/gateway/src', 'fastify', 'allowed'],
  ['services/demo/src', '@postern/gateway', 'allowed'],
  ['services/demo/src', '@postern/store-redis', 'refused'],
];

const reportSchema = z.object({
  diagnostics: z.array(z.object({ category: z.string(), location: z.object({ path: z.string() }) })),
});

let folder: string;
let refused: ReadonlySet<string>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-lint-'));
  for (const config of ['biome.json', 'biome.imports.json']) cpSync(join(root, config), join(folder, config));
  for (const [index, [from, specifier]] of cases.entries()) {
    const path = join(folder, from, `case-${index}.ts`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `import '${specifier}';\n`);
  }
  const args = ['lint', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none'];
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
  const report = reportSchema.parse(JSON.parse(outputOf(process.execPath, [biome, ...args])));
  const restricted = report.diagnostics.filter(({ category }) => category === 'lint/style/noRestrictedImports');
  refused = new Set(restricted.map(({ location }) => /case-(\d+)\.ts$/.exec(location.path)?.[1] ?? ''));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Biome ends with an error when it finds something, which is what we are after. */
function outputOf(program: string, args: readonly string[]): string {
  try {
    return execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    if (error instanceof Error && 'stdout' in error && typeof error.stdout === 'string') return error.stdout;
    throw error;
  }
}

test.each(cases.map((entry, index) => [...entry, index] as const))(
  '%s → %s is %s',
  (_from, _specifier, verdict, index) => {
    expect(refused.has(String(index)) ? 'refused' : 'allowed').toBe(verdict);
  },
);
