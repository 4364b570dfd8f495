import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { ConfigError, type ConfigFault } from './config-error.ts';

/** A text with at least one reference, for JSON Schema. */
export const REFERENCE_PATTERN: string = String.raw`\$\{(?:env|file):[^}]+\}`;
const REFERENCE = /\$\{(env|file):([^}]+)\}/g;

const hasReference = (text: string): boolean => text.search(REFERENCE) !== -1;

/**
 * Replaces `${env:NAME}` and `${file:path}` in every text of a document, so that secrets stay out of the file.
 * @param onFile called with the path of each file, even if it cannot be read
 * @throws ConfigError naming each unresolved reference by its path
 */
export function interpolate(
  document: unknown,
  env: Readonly<Record<string, string | undefined>>,
  onFile: (path: string) => void = () => {},
): unknown {
  const faults: ConfigFault[] = [];

  function resolve(kind: string, name: string, path: string): string {
    if (kind === 'env') {
      // Secrets often end with the line break of the command that wrote them.
      const value = env[name]?.replace(/(?<![\r\n])[\r\n]+$/, '');
      if (value !== undefined && value !== '') return value;
      faults.push({ path, message: `the environment variable ${name} is not set` });
      return '';
    }
    onFile(name);
    try {
      return readFileSync(name, 'utf8').trim();
    } catch {
      faults.push({ path, message: `the file ${name} cannot be read` });
      return '';
    }
  }

  function visit(node: unknown, path: string): unknown {
    if (typeof node === 'string')
      return node.replace(REFERENCE, (_, kind: string, name: string) => resolve(kind, name, path));
    if (Array.isArray(node)) return node.map((item, index) => visit(item, `${path}[${index}]`));
    if (node !== null && typeof node === 'object') {
      return Object.fromEntries(
        Object.entries(node).map(([key, value]) => [key, visit(value, path === '' ? key : `${path}.${key}`)]),
      );
    }
    return node;
  }

  const result = visit(document, '');
  if (faults.length > 0) throw new ConfigError(faults);
  return result;
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;

type Path = readonly PropertyKey[];

/**
 * Returns a copy of the document in which references that resolved to digits are numbers where the schema expects one, because
 * environment variables hold strings only. Undefined if there is no such place.
 */
export function withNumbers(
  document: unknown,
  asWritten: unknown,
  issues: readonly z.core.$ZodIssue[],
): object | undefined {
  const places = issues.flatMap(issue => {
    const [written, text] = [valueAt(asWritten, issue.path), valueAt(document, issue.path)];
    const isReferred = typeof written === 'string' && hasReference(written);
    if (!isReferred || !wantsNumber(issue) || typeof text !== 'string' || !NUMBER.test(text)) return [];
    return [{ path: issue.path, value: Number(text) }];
  });
  if (places.length === 0) return undefined;
  const copy: object = structuredClone(Object(document));
  for (const { path, value } of places) {
    const holder = valueAt(copy, path.slice(0, -1));
    const member = path.at(-1);
    if (typeof holder === 'object' && holder !== null && member !== undefined) Reflect.set(holder, member, value);
  }
  return copy;
}

function wantsNumber(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'invalid_type') return issue.expected === 'number' || issue.expected === 'int';
  return issue.code === 'invalid_value' && issue.values.some(value => typeof value === 'number');
}

function valueAt(node: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined),
    node,
  );
}
