/** A package that others install. */
export interface PublishedPackage {
  readonly name: string;
  /** Relative to the repository. */
  readonly folder: string;
}

/** Compiled file by file. They depend on each other only through their published names. */
export const libraries: readonly PublishedPackage[] = [
  { name: '@postern/api', folder: 'packages/api' },
  { name: '@postern/mcp', folder: 'packages/mcp' },
  { name: '@postern/host', folder: 'packages/host' },
];

/** Bundled together with the packages of this repository that it imports. */
export const gateway: PublishedPackage = { name: '@postern/gateway', folder: 'services/gateway' };
