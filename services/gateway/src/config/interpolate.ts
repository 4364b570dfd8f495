import { readFileSync } from 'node:fs';
import { ConfigError, type ConfigFault } from './config-error.ts';

/** A text with at least one reference, for JSON Schema. */
export const REFERENCE_PATTERN: string = String.raw`\$\{(?:env|file):[^}]+\}`;
const REFERENCE = /\$\{(env|file):([^}]+)\}/g;

export const hasReference = (text: string): boolean => text.search(REFERENCE) !== -1;

/**
 * Replaces `${env:NAME}` and `${file:path}` in every text of a document, so that secrets stay out of the file.
 * @throws ConfigError naming each reference that leads nowhere, by its path.
 */
export function interpolate(document: unknown, env: Readonly<Record<string, string | undefined>>): unknown {
  const faults: ConfigFault[] = [];

  function resolve(kind: string, name: string, path: string): string {
    if (kind === 'env') {
      const value = env[name];
      if (value !== undefined && value !== '') return value;
      faults.push({ path, message: `the environment variable ${name} is not set` });
      return '';
    }
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
