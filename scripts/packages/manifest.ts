/** Derives the package.json of a tarball from the one in the repository, which describes sources that Node.js runs directly. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from '../child.ts';
import type { PublishedPackage } from './published.ts';

const namesSchema = z.record(z.string(), z.string());

const sourceManifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  type: z.literal('module'),
  keywords: z.array(z.string()).optional(),
  engines: z.object({ node: z.string() }).optional(),
  exports: namesSchema,
  bin: namesSchema.optional(),
  dependencies: namesSchema.default({}),
  peerDependencies: namesSchema.optional(),
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.boolean() })).optional(),
});

export type SourceManifest = z.infer<typeof sourceManifestSchema>;

const catalog = z
  .object({ catalog: namesSchema })
  .parse(parse(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8'))).catalog;

export function readSourceManifest(folder: string): SourceManifest {
  return sourceManifestSchema.parse(JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')));
}

const dependenciesSchema = z.object({
  dependencies: namesSchema.default({}),
  peerDependencies: namesSchema.default({}),
});

/** The dependencies of a package that is not published, and so has no version. */
export function readDependencies(folder: string): Readonly<Record<string, string>> {
  return dependenciesSchema.parse(JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))).dependencies;
}

/** The packages that its user installs beside it. */
export function readPeers(folder: string): Readonly<Record<string, string>> {
  return dependenciesSchema.parse(JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')))
    .peerDependencies;
}

/** Members that depend on how a package is built. */
type Built = Pick<SourceManifest, 'dependencies' | 'bin'> & {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly files: readonly string[];
};

/** The packed package.json. @param source after `readSourceManifest` */
export function packedManifest(source: SourceManifest, { folder }: PublishedPackage, built: Built): object {
  const { name, version, description, license, keywords, type, engines, peerDependencies, peerDependenciesMeta } =
    source;
  return {
    name,
    version,
    description,
    keywords,
    license,
    ...repositoryOf(folder),
    type,
    engines,
    exports: built.exports,
    bin: built.bin,
    files: built.files,
    dependencies: built.dependencies,
    peerDependencies,
    peerDependenciesMeta,
  };
}

/**
 * Where the sources are, if the build runs in a workflow: npm accepts provenance only for a package that names the repository of the
 * workflow.
 */
function repositoryOf(directory: string): object {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
  if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY) return {};
  return { repository: { type: 'git', url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git`, directory } };
}

/**
 * Replaces the protocols that only a workspace knows. Packages of this repository are released together, so they need each other in
 * exactly this version.
 * @param prefix of a version from the catalog: `^` for libraries
 */
export function resolveVersions(
  dependencies: Readonly<Record<string, string>>,
  version: string,
  prefix: '' | '^',
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(dependencies).map(([name, range]) => {
      if (range.startsWith('workspace:')) return [name, version];
      if (range !== 'catalog:') return [name, range];
      const pinned = catalog[name];
      if (pinned === undefined) throw new Error(`${name}: not in the catalog of pnpm-workspace.yaml`);
      return [name, `${prefix}${pinned}`];
    }),
  );
}
