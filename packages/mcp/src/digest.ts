import { hash } from 'node:crypto';
import { PosternUsageError } from './errors.ts';

/** SHA-256 over canonical JSON, base64url. The order of keys does not matter. */
export function digest(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64url');
}

/**
 * JSON with sorted keys (in the manner of RFC 8785). Tool arguments arrive here after the tool's schema has parsed them,
 * so values without a JSON form are possible; common ones have an unambiguous form, others are refused. An instance of an unknown class
 * may keep its content where it is not seen, and would be equal to any other.
 *
 * @throws {PosternUsageError} `arguments_not_serializable`
 * @internal
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
    if (ArrayBuffer.isView(value)) {
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64url');
      return `{"$${value.constructor.name}":"${bytes}"}`;
    }
    if (Array.isArray(value)) return `[${value.map(item => write(item, open)).join(',')}]`;
    if ('toJSON' in value && typeof value.toJSON === 'function') return write(value.toJSON(), open);
    if (!isPlain(value)) {
      const name = value.constructor?.name ?? 'an unknown class';
      throw new PosternUsageError('arguments_not_serializable', `An instance of ${name} has no canonical form.`);
    }
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      // The form of a date or a map begins with a dollar sign, so a key that begins with one gets another.
      .map(([key, member]) => `${JSON.stringify(key.startsWith('$') ? `$${key}` : key)}:${write(member, open)}`);
    return `{${members.join(',')}}`;
  } finally {
    open.delete(value);
  }
}

/** An object literal of any realm, or one without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
