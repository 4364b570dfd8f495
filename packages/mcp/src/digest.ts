import { createHash } from 'node:crypto';
import { PosternUsageError } from './errors.ts';

/** SHA-256 over canonical JSON, base64url. Equal values have equal digests whatever the order of their keys. */
export function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url');
}

/**
 * JSON with sorted keys (in the manner of RFC 8785). Tool arguments arrive here after the tool's schema has parsed them,
 * so values that JSON does not know are possible; the common ones are written unambiguously, the rest is refused.
 *
 * @throws {PosternUsageError} `arguments_not_serializable`
 */
export function canonicalJson(value: unknown): string {
  return write(value, new Set());
}

function write(value: unknown, open: Set<object>): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : `{"$number":"${value}"}`;
    case 'bigint':
      return `{"$bigint":"${value}"}`;
    case 'undefined':
      return 'null';
    case 'object':
      return value === null ? 'null' : writeObject(value, open);
    default:
      throw new PosternUsageError('arguments_not_serializable', `A ${typeof value} has no canonical form.`);
  }
}

function writeObject(value: object, open: Set<object>): string {
  if (open.has(value)) throw new PosternUsageError('arguments_not_serializable', 'A cycle has no canonical form.');
  open.add(value);
  try {
    if (value instanceof Date) return `{"$date":"${value.getTime()}"}`;
    if (value instanceof Map) return `{"$map":${write([...value], open)}}`;
    if (value instanceof Set) return `{"$set":${write([...value], open)}}`;
    if (Array.isArray(value)) return `[${value.map(item => write(item, open)).join(',')}]`;
    if ('toJSON' in value && typeof value.toJSON === 'function') return write(value.toJSON(), open);
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${write(member, open)}`);
    return `{${members.join(',')}}`;
  } finally {
    open.delete(value);
  }
}
