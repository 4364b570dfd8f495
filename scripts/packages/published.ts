/** A package that others install. */
export interface PublishedPackage {
  readonly name: string;
  /** Relative to the repository. */
  readonly folder: string;
}

/** A program, bundled from `src/{program}.ts`. It has no API. */
export interface PublishedProgram extends PublishedPackage {
  readonly program: string;
}

/** Compiled file by file. They depend on each other only through their published names. */
export const libraries: readonly PublishedPackage[] = [
  { name: '@postern/api', folder: 'packages/api' },
  { name: '@postern/mcp', folder: 'packages/mcp' },
  { name: '@postern/host', folder: 'packages/host' },
  { name: '@postern/proxy', folder: 'packages/proxy' },
  { name: '@postern/conformance', folder: 'tools/conformance' },
];

/** Bundled together with the packages of this repository that it imports. */
export const gateway: PublishedProgram = {
  name: '@postern/gateway',
  folder: 'services/gateway',
  program: 'postern',
};

/** Contains the gateway. */
export const demo: PublishedProgram = { name: '@postern/demo', folder: 'tools/demo', program: 'postern-demo' };
