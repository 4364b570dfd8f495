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
  expect(importers('@modelcontextprotocol/server')).toEqual(new Set(['v2']));
  expect(importers('@modelcontextprotocol/sdk')).toEqual(new Set(['v1']));
});

test('shipped files import no test helper, and of our packages only the contract', () => {
  const names = files.flatMap(importsOf);
  expect(names.filter(name => name.includes('/testing/'))).toEqual([]);
  expect(new Set(names.filter(name => name.startsWith('@postern/')))).toEqual(
    new Set(['@postern/api', '@postern/api/local']),
  );
});

/** Each room imports only itself and those before it. */
const rooms = ['gateway', 'receipt', 'run', 'eras', 'ask', 'http', 'gate'];
/** Beside the rooms: the entries, which import them, and what all rooms may import, which imports none. */
const entries = ['adapter.ts', 'common.ts', 'index.ts'];
const shared = ['errors.ts', 'mistakes.ts', 'safe-http.ts', 'texts.ts'];

test('rooms import only the rooms below them', () => {
  const roomOf = (path: string) => rooms.indexOf(path.split('/')[0] ?? '');
  const found = files.flatMap(file => {
    const [folder = ''] = file.includes('/') ? file.split('/') : [];
    const isRoom = rooms.includes(folder);
    if (!isRoom && (folder !== '' || entries.includes(file))) return [];
    const imported = importsOf(file).flatMap(name => /^\.\.?\/(.+)$/.exec(name)?.[1] ?? []);
    return imported.filter(name => name.includes('/') && roomOf(name) > roomOf(file)).map(name => `${file}: ${name}`);
  });
  expect(found).toEqual([]);
  expect(new Set(files.map(file => file.split('/')[0]))).toEqual(
    new Set([...rooms, ...entries, 'fastmcp', 'test-gate', 'v1', 'v2', ...shared]),
  );
});

test('both entry points export the same names', () => {
  /** Types have no trace at run time, so the names are read from the source: `common.ts` and one line for the SDK. */
  const ofSdk = (folder: string) => {
    const source = readFileSync(`${import.meta.dirname}/${folder}`, 'utf8');
    expect(source).toContain('common.ts');
    return [...source.matchAll(/export \{([^}]+)\} from '(?!.*common)/g)]
      .flatMap(([, names]) => (names ?? '').split(','))
      .map(name => name.trim())
      .sort();
  };
  expect(ofSdk('v1/index.ts')).toEqual(ofSdk('index.ts'));
  expect(ofSdk('index.ts')).toContain('postern');
});
