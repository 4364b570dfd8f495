import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const files = globSync('**/*.ts', { cwd: import.meta.dirname }).filter(
  file => !file.endsWith('.test.ts') && !file.startsWith('testing/'),
);
const importsOf = (file: string) =>
  [...readFileSync(`${import.meta.dirname}/${file}`, 'utf8').matchAll(/from '([^']+)'/g)].map(([, name]) => name ?? '');

test('only the adapter of an SDK imports that SDK', () => {
  expect(files.length).toBeGreaterThan(20);
  const importers = (sdk: string) =>
    new Set(files.filter(file => importsOf(file).some(name => name.startsWith(sdk))).map(file => file.split('/')[0]));
  expect(importers('@modelcontextprotocol/client')).toEqual(new Set(['v2']));
  expect(importers('@modelcontextprotocol/sdk')).toEqual(new Set(['v1']));
});

test('the published code imports no network module, so only a browser can open a URL', () => {
  const names = files.flatMap(importsOf);
  expect(names.filter(name => /^node:(?:https?|http2|net|tls|dns|dgram)|undici|\/testing\//.test(name))).toEqual([]);
  const asking = files.filter(file =>
    /\bfetch\(|new (?:WebSocket|EventSource)/.test(readFileSync(`${import.meta.dirname}/${file}`, 'utf8')),
  );
  expect(asking).toEqual([]);
});
