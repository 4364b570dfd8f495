import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
// TypeScript 7 has no stable API.
import ts from 'typescript-5';

/**
 * Writes each zod schema in the declarations as `z.ZodType` of its plain types. Spelled out, a schema names classes that only the zod of
 * this repository has, and costs the compiler of a consumer hundreds of megabytes.
 * @param dist next to the `node_modules` that it was compiled with
 */
export function makeDeclarationsPlain(dist: string): void {
  const paths = globSync('**/*.d.ts', { cwd: dist }).map(path => join(dist, path));
  if (!paths.some(path => readFileSync(path, 'utf8').includes('z.Zod'))) return;
  const options = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2024, strict: true, skipLibCheck: true };
  const program = ts.createProgram(paths, options, hostOf(options, dist));
  const checker = program.getTypeChecker();
  for (const path of paths) {
    const file = program.getSourceFile(path);
    if (file === undefined) throw new Error(`${path}: not a declaration`);
    const schemas = outermostSchemas(file, checker);
    if (schemas.length === 0) continue;
    let text = file.text;
    // From the end, so that the earlier positions stay valid.
    for (const { node, output, input } of schemas.toReversed()) {
      const plain = `z.ZodType<${printed(output, file, checker)}, ${printed(input, file, checker)}>`;
      // As many lines as before: the declaration map refers to the lines that follow.
      const lines = node.getText(file).split('\n').length - 1;
      text = `${text.slice(0, node.getStart(file))}${plain}${'\n'.repeat(lines)}${text.slice(node.end)}`;
    }
    writeFileSync(path, text);
  }
}

/** Declarations of others, parsed once for all libraries. */
const parsed = new Map<string, ts.SourceFile | undefined>();

function hostOf(options: ts.CompilerOptions, dist: string): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  return {
    ...host,
    getSourceFile(path, ...rest) {
      if (path.startsWith(dist)) return host.getSourceFile(path, ...rest);
      if (!parsed.has(path)) parsed.set(path, host.getSourceFile(path, ...rest));
      return parsed.get(path);
    },
  };
}

interface SchemaNode {
  readonly node: ts.TypeNode;
  readonly output: ts.Type;
  readonly input: ts.Type;
}

function outermostSchemas(file: ts.SourceFile, checker: ts.TypeChecker): readonly SchemaNode[] {
  const found: SchemaNode[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeReferenceNode(node) && /^z\.Zod\w+$/.test(node.typeName.getText(file))) {
      const internals = memberOf(checker.getTypeFromTypeNode(node), '_zod', node, checker);
      const [output, input] = ['output', 'input'].map(name => memberOf(internals, name, node, checker));
      if (output !== undefined && input !== undefined) found.push({ node, output, input });
      return;
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function memberOf(
  type: ts.Type | undefined,
  name: string,
  place: ts.Node,
  checker: ts.TypeChecker,
): ts.Type | undefined {
  const symbol = type?.getProperty(name);
  return symbol && checker.getTypeOfSymbolAtLocation(symbol, place);
}

function printed(type: ts.Type, file: ts.SourceFile, checker: ts.TypeChecker): string {
  const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType;
  const text = checker.typeToString(type, file, flags);
  // A type of another module appears with the path of that module on this machine.
  return text.replaceAll(/import\(["']([^"']+)["']\)/g, (_, path: string) => {
    if (path.startsWith('node:')) return `import('${path}')`;
    const inside = relative(dirname(file.fileName), path).replace(/(?:\.d)?\.ts$/, '');
    return `import('${inside.startsWith('.') ? inside : `./${inside}`}.js')`;
  });
}
