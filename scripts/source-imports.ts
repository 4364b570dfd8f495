/**
 * Finds the modules that a TypeScript source imports. Reads statements as Biome formats them (a statement begins its
 * line), so that code inside comments and texts is not mistaken for an import.
 */
export type SourceImport = {
  readonly specifier: string;
  /** Erased before the program runs: `import type …` and `export type … from`. */
  readonly typeOnly: boolean;
};

const statements = [
  // import … from '…' and export … from '…', also over several lines
  /^(?:import|export)\s+(?<type>type\b(?!\s*,|\s+from\b))?[\w\s{},*$]*?\bfrom\s+'(?<specifier>[^']+)'/gm,
  // import '…'
  /^import\s+'(?<specifier>[^']+)'/gm,
  // import('…'), require('…') and what resolves in their name, anywhere but in a comment
  /^(?!\s*(?:\/?\*|\/\/)).*?\b(?:import(?:\.meta\.resolve)?|require(?:\.resolve)?|createRequire\([^)]*\)(?:\.resolve)?)\(\s*'(?<specifier>[^']+)'/gm,
];

export function sourceImports(source: string): readonly SourceImport[] {
  return statements.flatMap(statement =>
    [...source.matchAll(statement)].map(({ groups }) => ({
      specifier: groups?.['specifier'] ?? '',
      typeOnly: groups?.['type'] !== undefined,
    })),
  );
}

/** Returns the package of a bare specifier; undefined for relative paths and for Node's own modules. */
export function packageOf(specifier: string): string | undefined {
  if (/^(?:\.|\/|node:)/.test(specifier)) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
