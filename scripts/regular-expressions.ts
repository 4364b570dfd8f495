import { stripTypeScriptTypes } from 'node:module';
import { type Node, parse } from 'acorn';
import { analyse } from 'scslre';

/** Returns the regular expression literals of a source text. */
export function regularExpressionsIn(typescript: string): readonly RegExp[] {
  const found: RegExp[] = [];
  const open: unknown[] = [parse(stripTypeScriptTypes(typescript), { ecmaVersion: 'latest', sourceType: 'module' })];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (isRegularExpression(value)) found.push(new RegExp(value.regex.pattern, value.regex.flags));
    else open.push(...Object.values(value));
  }
  return found;
}

/**
 * Whether some input takes more than linear time, for example quadratic time because the search restarts at every
 * character. Decided from the pattern alone, without running it.
 */
export function isSuperLinear(expression: RegExp): boolean {
  return analyse(expression, { reportTypes: { Move: true, Self: true, Trade: true } }).reports.length > 0;
}

function isRegularExpression(value: object): value is Node & { regex: { pattern: string; flags: string } } {
  return 'regex' in value && 'type' in value && value.type === 'Literal';
}
