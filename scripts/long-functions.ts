import { stripTypeScriptTypes } from 'node:module';
import { type Function as AcornFunction, type Node, parse } from 'acorn';

/** Lines of the longest function that needs no second look. */
const MOST = 80;

/** Returns where the long functions of a TypeScript source begin, and their lines. One within another counts for both. */
export function longFunctions(source: string): readonly { readonly line: number; readonly lines: number }[] {
  // White space replaces the types, so lines stay as they are.
  const code = stripTypeScriptTypes(source);
  const found: { line: number; lines: number }[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (!isNode(value)) return;
    const { loc } = value;
    const lines = loc ? loc.end.line - loc.start.line + 1 : 0;
    if (loc && lines > MOST && isFunction(value)) found.push({ line: loc.start.line, lines });
    for (const each of Object.values(value)) visit(each);
  };
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true }));
  return found;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

const isFunction = (node: Node): node is AcornFunction =>
  ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(node.type);
