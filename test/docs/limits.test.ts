import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const sources = [read('packages/mcp/src/gate/environment.ts'), read('packages/mcp/src/http/endpoint.ts')].join('\n');

/** The default of an option, as its schema writes it: a product of numbers. */
function defaultOf(option: string): number | undefined {
  const [, written] =
    new RegExp(`^ +${option}: z\\s*\\.int\\(\\)[^;,]*?\\.default\\(([\\d_* ]+)\\)`, 'm').exec(sources) ?? [];
  return written?.split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1);
}

test('docs/limits.md has the defaults of the options of @postern/mcp', () => {
  const [, tables = ''] = /## Of the packages\n(.*?)\n\| `limits` of a host/s.exec(read('docs/limits.md')) ?? [];
  const rows = [...tables.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, option = '', value]) => ({ option, value }));
  expect(rows.length).toBeGreaterThan(6);
  expect(rows).toEqual(rows.map(({ option }) => ({ option, value: String(defaultOf(option)) })));
});
