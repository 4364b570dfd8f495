/**
 * Imports point down only. This test derives that from what every file really imports; biome.json says the same at the
 * place of the import, with the way to go instead.
 */
import { describe, expect, test } from 'vitest';
import { findCycles } from './import-cycles.ts';
import { packageOf } from './source-imports.ts';
import {
  readManifest,
  readSource,
  repositoryPaths,
  resolveRelative,
  type SourceFile,
  type WorkspacePackage,
  workspacePackages,
} from './source-tree.ts';

/** Package → the packages of ours that it may import. Tests may import the testkit as well. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'packages/elicitation': [],
  'packages/api': [],
  'packages/pages': [],
  'packages/authorization': ['@postern/elicitation'],
  'packages/payment': ['@postern/elicitation'],
  'packages/vault': ['@postern/elicitation'],
  'packages/webhooks': ['@postern/elicitation'],
  'packages/store-redis': ['@postern/elicitation'],
  'packages/testkit': ['@postern/elicitation'],
  'packages/mcp': ['@postern/api'],
  'packages/host': ['@postern/api'],
  'services/gateway': [
    '@postern/api',
    '@postern/authorization',
    '@postern/elicitation',
    '@postern/pages',
    '@postern/payment',
    '@postern/store-redis',
    '@postern/vault',
    '@postern/webhooks',
  ],
  'services/demo': ['@postern/gateway', '@postern/host', '@postern/mcp'],
  test: [
    '@postern/api',
    '@postern/authorization',
    '@postern/demo',
    '@postern/elicitation',
    '@postern/gateway',
    '@postern/host',
    '@postern/mcp',
    '@postern/pages',
    '@postern/payment',
    '@postern/store-redis',
    '@postern/vault',
  ],
};

/** Library → the places that may know it. Everywhere else it is hidden behind a package of ours. */
const owners: readonly { readonly library: RegExp; readonly places: RegExp }[] = [
  { library: /^openid-client$/, places: /^packages\/authorization\// },
  {
    library: /^ioredis$/,
    places:
      /^packages\/(?:store-redis|testkit)\/|^services\/gateway\/src\/(?:deps|embedded-redis)\.ts$|^test\/|\.test\.ts$/,
  },
  { library: /^(?:fastify|fastify-plugin|@fastify\/.+)$/, places: /^services\/gateway\/|^test\// },
  { library: /^@modelcontextprotocol\//, places: /^packages\/(?:mcp|host)\/|^services\/demo\/|^test\// },
  { library: /^(?:stripe|@simplewebauthn\/.+)$/, places: /^packages\/payment\// },
  { library: /^bullmq$/, places: /^services\/gateway\/src\/webhooks\// },
  { library: /^oidc-provider$/, places: /^packages\/testkit\/|^services\/demo\/|^test\// },
];

/** Parts of the gateway that don't know a package the rest of the gateway uses. */
const gatewayRooms = [
  // The schema of forms is MCP's, and a page draws it.
  { room: 'services/gateway/src/http/pages/', stranger: '@postern/api', except: '@postern/api/form' },
  { room: 'services/gateway/src/http/api/', stranger: '@postern/pages', except: undefined },
] as const;

/** Dependencies that no source names: types for another dependency, and programs that are run, not imported. */
const usedWithoutImport = /^@types\/|^@modelcontextprotocol\/conformance$/;

const packages = workspacePackages();
const rootDevDependencies = readManifest('.').devDependencies;

function complaints(check: (file: SourceFile, owner: WorkspacePackage, specifier: string) => string | undefined) {
  return packages.flatMap(owner =>
    owner.files.flatMap(file =>
      file.imports.flatMap(({ specifier }) => {
        const complaint = check(file, owner, specifier);
        return complaint === undefined ? [] : [`${file.path}: ${complaint}`];
      }),
    ),
  );
}

describe('import directions', () => {
  test('the scanner sees the sources', () => {
    expect(packages.length).toBeGreaterThan(8);
    expect(complaints((_file, _owner, specifier) => specifier).length).toBeGreaterThan(200);
  });

  test('every package has its place', () => {
    expect(packages.map(({ folder }) => folder).filter(folder => !(folder in mayImport))).toEqual([]);
  });

  test('packages of ours import only what lies below them', () => {
    const found = complaints((file, owner, specifier) => {
      const target = packageOf(specifier);
      if (!target?.startsWith('@postern/') || target === owner.name) return undefined;
      const allowed = mayImport[owner.folder] ?? [];
      if (allowed.includes(target) || (file.isTest && target === '@postern/testkit')) return undefined;
      return `${owner.folder} may not import ${target}`;
    });
    expect(found).toEqual([]);
  });

  test('a library is known only to its owners', () => {
    const found = complaints((file, _owner, specifier) => {
      const target = packageOf(specifier) ?? '';
      const stranger = owners.find(({ library, places }) => library.test(target) && !places.test(file.path));
      return stranger && `${target} belongs elsewhere`;
    });
    expect(found).toEqual([]);
  });

  test('the rooms of the gateway keep to themselves', () => {
    const found = complaints((file, _owner, specifier) => {
      const broken = gatewayRooms.some(
        ({ room, stranger, except }) =>
          file.path.startsWith(room) && packageOf(specifier) === stranger && specifier !== except,
      );
      return broken ? `may not import ${specifier}` : undefined;
    });
    expect(found).toEqual([]);
  });

  test('nobody reaches into another package', () => {
    const found = complaints((file, owner, specifier) => {
      if (/^@postern\/[^/]+\/src(?:\/|$)/.test(specifier)) return `deep import ${specifier}`;
      if (!specifier.startsWith('.')) return undefined;
      const target = resolveRelative(file.path, specifier);
      return target.startsWith(`${owner.folder}/`) ? undefined : `${specifier} leaves ${owner.folder}`;
    });
    expect(found).toEqual([]);
  });

  test.each(packages.map(({ folder, files }) => [folder, files] as const))(
    '%s has no import cycle',
    (_folder, files) => {
      const edges = files.map(({ path, imports }) => {
        const local = imports.filter(({ specifier, typeOnly }) => specifier.startsWith('.') && !typeOnly);
        return [path, local.map(({ specifier }) => resolveRelative(path, specifier))] as const;
      });
      expect(findCycles(new Map(edges))).toEqual([]);
    },
  );
});

describe('package.json', () => {
  test('declares what is imported', () => {
    const found = complaints((file, owner, specifier) => {
      const target = packageOf(specifier);
      if (target === undefined || target === owner.name || owner.dependencies.includes(target)) return undefined;
      if (file.isTest && [...owner.devDependencies, ...rootDevDependencies].includes(target)) return undefined;
      return `${target} is not declared in ${owner.folder}/package.json`;
    });
    expect(found).toEqual([]);
  });

  test.each(packages.map(owner => [owner.folder, owner] as const))(
    '%s declares nothing it does not use',
    (_folder, owner) => {
      const named = new Set(owner.files.flatMap(({ imports }) => imports.map(({ specifier }) => packageOf(specifier))));
      const declared = [...owner.dependencies, ...owner.devDependencies];
      expect(declared.filter(name => !named.has(name) && !usedWithoutImport.test(name))).toEqual([]);
    },
  );
});

describe('every file', () => {
  const paths = repositoryPaths();
  const sources = paths.filter(path => /\.(?:ts|lua)$/.test(path)).map(readSource);
  const texts = paths.filter(path => !/\.(?:png|ico|woff2?)$/.test(path)).map(readSource);
  const withText = (files: readonly SourceFile[], pattern: RegExp) =>
    files.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

  test('is at most 400 lines long', () => {
    const long = sources.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }));
    expect(long.filter(({ lines }) => lines > 400)).toEqual([]);
  });

  test('takes no randomness from Math', () => {
    const code = sources.filter(({ isTest }) => !isTest);
    expect(withText(code, /\bMath\.random\b/)).toEqual([]);
  });

  test('names no package registry and no path of one machine', () => {
    const registry =
      /registry\.(?:npmjs|yarnpkg|npmmirror)\.|https?:\/\/[\w.-]*(?:registry|artifactory|verdaccio)[\w.-]*/;
    expect(withText(texts, registry)).toEqual([]);
    const machinePath = new RegExp(`(?:^|[\\s'"\`(=:])/(?:${['work', 'root', 'Users'].join('|')})/`, 'm');
    expect(withText(texts, machinePath)).toEqual([]);
  });
});
