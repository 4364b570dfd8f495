/** Imports point down only. Checks the imports of every file; each message names the alternative. */
import { describe, expect, test } from 'vitest';
import { findCycles } from './import-cycles.ts';
import { floors } from './ratchets.ts';
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

type Layer = { readonly mayImport: readonly string[]; readonly instead: string };

const onElicitation: Layer = {
  mayImport: ['@postern/elicitation'],
  instead: 'take what you need as a parameter: services/gateway/src/deps.ts wires packages together',
};
const overHttp: Layer = {
  mayImport: ['@postern/api'],
  instead: "it runs on other people's machines and speaks HTTP to the gateway: the schemas are in @postern/api",
};

/** Our packages that every test may import. */
const forTests: readonly string[] = ['@postern/testkit', '@postern/store-sqlite'];

/** Package → our packages that it may import. */
const layers: Readonly<Record<string, Layer>> = {
  'packages/elicitation': {
    mayImport: [],
    instead: 'declare a port beside its record: services/gateway/src/deps.ts hands in what implements it',
  },
  'packages/api': { mayImport: [], instead: 'domain and contract meet in services/gateway' },
  'packages/pages': { mayImport: [], instead: 'extend the view types: services/gateway/src/pages fills them' },
  'packages/authorization': onElicitation,
  'packages/payment': onElicitation,
  'packages/vault': onElicitation,
  'packages/store-redis': onElicitation,
  'packages/store-sqlite': onElicitation,
  'tools/openid-server': { mayImport: [], instead: 'it serves the demo and the testkit, and knows neither' },
  'packages/testkit': {
    mayImport: ['@postern/elicitation', '@postern/openid-server'],
    instead: 'what needs the whole gateway belongs to test/',
  },
  'tools/conformance': {
    mayImport: [],
    instead: 'it tests any MCP server and any MCP client, and knows nothing of Postern',
  },
  'packages/mcp': overHttp,
  'packages/host': overHttp,
  'packages/proxy': {
    mayImport: ['@postern/api', '@postern/mcp'],
    instead: 'it asks people as any MCP server does: what is missing in @postern/mcp becomes a seam there',
  },
  'services/gateway': {
    mayImport: [
      '@postern/api',
      '@postern/authorization',
      '@postern/elicitation',
      '@postern/pages',
      '@postern/payment',
      '@postern/store-redis',
      '@postern/store-sqlite',
      '@postern/vault',
    ],
    instead: '@postern/mcp and @postern/host talk to the gateway over HTTP, the testkit is for tests',
  },
  'tools/demo': {
    mayImport: ['@postern/gateway', '@postern/host', '@postern/mcp', '@postern/openid-server'],
    instead: 'the demo uses Postern like any user: the gateway as a service, @postern/mcp and @postern/host',
  },
  'tools/bench': {
    mayImport: [
      '@postern/api',
      '@postern/elicitation',
      '@postern/gateway',
      '@postern/mcp',
      '@postern/store-redis',
      '@postern/testkit',
      '@postern/vault',
    ],
    instead: 'measure what users and MCP servers see',
  },
  'tools/foreign': { mayImport: [], instead: 'it plays clients that know nothing of Postern' },
  'tools/mutations': { mayImport: [], instead: 'it works on the sources as text' },
  test: {
    mayImport: [
      '@postern/api',
      '@postern/authorization',
      '@postern/conformance',
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
    instead: 'test the behaviour that users and MCP servers see',
  },
};

/** Library → the places that may import it. All other code uses one of our packages instead. */
const owners: readonly { readonly library: RegExp; readonly places: RegExp; readonly home: string }[] = [
  { library: /^openid-client$/, places: /^packages\/authorization\//, home: 'packages/authorization' },
  {
    library: /^ioredis$/,
    places: /^packages\/(?:store-redis|testkit)\/|^test\/|^tools\/bench\/|\.test\.ts$/,
    home: 'packages/store-redis',
  },
  {
    library: /^(?:fastify|fastify-plugin|@fastify\/.+)$/,
    places: /^services\/gateway\/|^test\/|^tools\/bench\/|\.test\.ts$/,
    home: 'services/gateway',
  },
  {
    library: /^@modelcontextprotocol\//,
    places: /^packages\/(?:mcp|host)\/|^tools\/(?:demo|bench)\/|^test\//,
    home: 'packages/mcp and packages/host',
  },
  { library: /^(?:stripe|@simplewebauthn\/.+)$/, places: /^packages\/payment\//, home: 'packages/payment' },
  {
    library: /^bullmq$/,
    places: /^services\/gateway\/src\/events\/webhooks\//,
    home: 'services/gateway/src/events/webhooks',
  },
  { library: /^oidc-provider$/, places: /^tools\/openid-server\//, home: 'tools/openid-server' },
];

/**
 * Room of the gateway → the rooms that it may import. The files outside all rooms (main, app, deps and what they compose) may import
 * every room, and no room imports them.
 */
const gatewayRooms: Readonly<Record<string, readonly string[]>> = {
  platform: [],
  sealing: ['platform'],
  'mcp-servers': ['platform', 'sealing'],
  events: ['platform', 'mcp-servers'],
  pages: ['platform', 'mcp-servers'],
  authorization: ['platform', 'mcp-servers', 'sealing', 'pages'],
  identity: ['platform', 'mcp-servers', 'sealing', 'pages', 'authorization'],
  entries: ['platform', 'mcp-servers', 'sealing', 'pages'],
  payments: ['platform', 'mcp-servers', 'pages', 'identity'],
  elicitations: [
    ...['platform', 'mcp-servers', 'sealing', 'pages'],
    ...['authorization', 'identity', 'entries', 'payments'],
  ],
  account: ['platform', 'mcp-servers', 'pages', 'authorization', 'identity', 'entries', 'payments'],
  admin: ['platform', 'mcp-servers', 'events', 'identity', 'authorization', 'entries', 'payments', 'account'],
  cli: ['platform', 'mcp-servers', 'sealing', 'events', 'identity', 'pages', 'admin', 'admin-api'],
  local: ['platform', 'mcp-servers', 'cli'],
  console: ['platform', 'mcp-servers', 'pages', 'identity', 'admin'],
  'admin-api': ['platform', 'admin'],
};
const GATEWAY = 'services/gateway/src/';
const roomOf = (path: string) =>
  path.startsWith(GATEWAY) ? path.slice(GATEWAY.length).split('/').slice(0, -1)[0] : undefined;

/** Dependencies that no source imports: types of other dependencies, and programs. */
const usedWithoutImport =
  /^@types\/|^(?:@modelcontextprotocol\/conformance|@arethetypeswrong\/cli|publint|typescript)$/;
/** By folder and name: peers that another package of a bundle imports, and the gateway that @postern/mcp starts beside the proxy. */
const importedInBundle = new Set(['services/gateway stripe', 'packages/proxy @postern/gateway']);

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
  test('the scanner finds the sources', () => {
    expect(packages.length).toBeGreaterThan(8);
    expect(complaints((_file, _owner, specifier) => specifier).length).toBeGreaterThan(200);
  });

  test('every package is in the list', () => {
    expect(packages.map(({ folder }) => folder).filter(folder => !(folder in layers))).toEqual([]);
  });

  test('our packages import only packages below them', () => {
    const found = complaints((file, owner, specifier) => {
      const target = packageOf(specifier) ?? '';
      // A specifier that is put together at run time has no name.
      if (!/^@postern\/./.test(target) || target === owner.name) return undefined;
      const { mayImport = [], instead = '' } = layers[owner.folder] ?? {};
      if (mayImport.includes(target) || (file.isTest && forTests.includes(target))) return undefined;
      return `may not import ${target}: ${instead}`;
    });
    expect(found).toEqual([]);
  });

  test('a library is imported only by its owners', () => {
    const found = complaints((file, _owner, specifier) => {
      const target = packageOf(specifier) ?? '';
      const stranger = owners.find(({ library, places }) => library.test(target) && !places.test(file.path));
      return stranger && `${target} belongs to ${stranger.home}`;
    });
    expect(found).toEqual([]);
  });

  test('the rooms of the gateway import only rooms below them', () => {
    const found = complaints((file, _owner, specifier) => {
      const room = roomOf(file.path);
      if (room === undefined || room === 'testing' || file.isTest || !specifier.startsWith('.')) return undefined;
      const target = resolveRelative(file.path, specifier);
      const below = roomOf(target);
      if (below === room || gatewayRooms[room]?.includes(below ?? '') === true) return undefined;
      return `${room} may not import ${target}`;
    });
    expect(found).toEqual([]);
  });

  test('no file serves both the API and pages', () => {
    const both = packages
      .flatMap(({ files }) => files)
      .filter(file => !file.isTest && ![undefined, 'cli'].includes(roomOf(file.path)))
      .filter(({ imports }) =>
        ['@postern/api', '@postern/pages'].every(name => imports.some(({ specifier }) => specifier === name)),
      );
    expect(both.map(({ path }) => path)).toEqual([]);
  });

  test('packages import each other only through their exports', () => {
    const found = complaints((file, owner, specifier) => {
      if (/^@postern\/[^/]+\/src(?:\/|$)/.test(specifier)) return `deep import ${specifier}`;
      if (!specifier.startsWith('.')) return undefined;
      const target = resolveRelative(file.path, specifier);
      // Tests of the whole look inside; tools use the helpers of both.
      const mayLeave =
        owner.folder === 'test' ||
        (owner.folder.startsWith('tools/') && file.isTest && /^(?:test|scripts)\//.test(target));
      return mayLeave || target.startsWith(`${owner.folder}/`) ? undefined : `${specifier} leaves ${owner.folder}`;
    });
    expect(found).toEqual([]);
  });

  test.each(packages.map(({ folder, files }) => [folder, files] as const))(
    '%s has no import cycle, type imports included',
    (_, files) => {
      const edges = files.map(({ path, imports }) => {
        const local = imports.filter(({ specifier }) => specifier.startsWith('.'));
        return [path, local.map(({ specifier }) => resolveRelative(path, specifier))] as const;
      });
      expect(findCycles(new Map(edges))).toEqual([]);
    },
  );
});

describe('depth', () => {
  const isProduct = (path: string) => !/\.test\.ts$|\/testing\/|\/test-gate\/|\/samples\//.test(path);

  function floorsOf(files: readonly SourceFile[]): number {
    const below = new Map(
      files
        .filter(({ path }) => isProduct(path))
        .map(({ path, imports }) => {
          const own = imports.filter(({ specifier }) => specifier.startsWith('.'));
          return [path, own.map(({ specifier }) => resolveRelative(path, specifier)).filter(isProduct)] as const;
        }),
    );
    const known = new Map<string, number>();
    const floorOf = (path: string): number => {
      const floor = known.get(path) ?? 1 + Math.max(0, ...(below.get(path) ?? []).map(floorOf));
      known.set(path, floor);
      return floor;
    };
    return Math.max(0, ...[...below.keys()].map(floorOf));
  }

  test('no package gets deeper, and a smaller number is written down', () => {
    expect(Object.fromEntries(packages.map(({ folder, files }) => [folder, floorsOf(files)]))).toMatchObject(floors);
    const product = packages.filter(({ files }) => files.some(({ isTest }) => !isTest)).map(({ folder }) => folder);
    expect(product.filter(folder => !(folder in floors))).toEqual([]);
  });
});

describe('package.json', () => {
  test('declares what is imported', () => {
    const found = complaints((file, owner, specifier) => {
      const target = packageOf(specifier);
      if (target === undefined || target === '@postern/' || target === owner.name) return undefined;
      if (owner.dependencies.includes(target)) return undefined;
      if (file.isTest && [...owner.devDependencies, ...rootDevDependencies].includes(target)) return undefined;
      return `${target} is not declared in ${owner.folder}/package.json`;
    });
    expect(found).toEqual([]);
  });

  test.each(packages.map(owner => [owner.folder, owner] as const))(
    '%s declares nothing it does not use',
    (folder, owner) => {
      const named = new Set(owner.files.flatMap(({ imports }) => imports.map(({ specifier }) => packageOf(specifier))));
      const declared = [...owner.dependencies, ...owner.devDependencies].filter(
        name => !importedInBundle.has(`${folder} ${name}`),
      );
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

  test('does not use Math.random', () => {
    const code = sources.filter(({ isTest }) => !isTest);
    expect(withText(code, /\bMath\.random\b/)).toEqual([]);
  });

  test('names no package registry and no path of a particular machine', () => {
    const registry =
      /registry\.(?:npmjs|yarnpkg|npmmirror)\.|https?:\/\/[\w.-]*(?:registry|artifactory|verdaccio)[\w.-]*/;
    expect(withText(texts, registry)).toEqual([]);
    const machinePath = new RegExp(`(?:^|[\\s'"\`(=:])/(?:${['work', 'root', 'Users'].join('|')})/`, 'm');
    expect(withText(texts, machinePath)).toEqual([]);
  });
});
