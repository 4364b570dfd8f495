import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from './config-schema.ts';
import type { WebhookSigner } from './webhook-signer.ts';

/**
 * What belongs to the process, by path: its listeners, what it keeps and for how long, its keys, what others know it by, and what it
 * counts. All else, a running gateway loads anew. @internal
 */
export const needRestart = [
  'publicUrl',
  'listen',
  'adminApi',
  'console.listen',
  'metrics',
  'telemetry',
  'redis',
  'store',
  'vault',
  'audit',
  'retention',
  'events',
  'payment',
  'overload',
] as const;

/** Names of the elements of a list section that differ. */
export interface NamedChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface ConfigChanges {
  /** Names of the sections that differ. */
  readonly sections: readonly string[];
  /** Paths of the changes that need a restart. */
  readonly needRestart: readonly string[];
  readonly mcpServers: NamedChanges;
  readonly providers: NamedChanges;
  readonly identityProviders: NamedChanges;
  readonly processors: NamedChanges;
}

/** Compares two configurations after interpolation and defaults. */
export function configChanges(before: GatewayConfig, after: GatewayConfig): ConfigChanges {
  const names = new Set(Object.keys({ ...before, ...after }));
  // It only tells editors where the JSON Schema is.
  names.delete('$schema');
  const sections = [...names].filter(
    name => !isSameConfig(Reflect.get(before, name) as unknown, Reflect.get(after, name) as unknown),
  );
  return {
    sections,
    needRestart: needRestart.filter(path => !isSameConfig(memberAt(before, path), memberAt(after, path))),
    mcpServers: namedChanges(before.mcpServers, after.mcpServers, ({ id }) => id),
    providers: namedChanges(before.providers, after.providers, ({ name }) => name),
    identityProviders: namedChanges(before.identityProviders, after.identityProviders, ({ name }) => name),
    processors: namedChanges(before.processors, after.processors, ({ name }) => name),
  };
}

function memberAt(config: GatewayConfig, path: string): unknown {
  let found: unknown = config;
  for (const name of path.split('.'))
    found = typeof found === 'object' && found !== null ? Reflect.get(found, name) : undefined;
  return found;
}

function namedChanges<T>(before: readonly T[], after: readonly T[], nameOf: (element: T) => string): NamedChanges {
  const old = new Map(before.map(element => [nameOf(element), element]));
  const now = new Map(after.map(element => [nameOf(element), element]));
  return {
    added: [...now.keys()].filter(name => !old.has(name)),
    changed: [...now].flatMap(([name, element]) => {
      const previous = old.get(name);
      return previous === undefined || isSameConfig(previous, element) ? [] : [name];
    }),
    removed: [...old.keys()].filter(name => !now.has(name)),
  };
}

/** Whether two parsed parts of a configuration are equal. */
function isSameConfig(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(comparable(one), comparable(other));
}

const PROBE = { webhookId: 'probe', timestamp: 0, body: '' };

/** Parsing turns webhook secrets into signers, which hide their keys. Signatures of one text are equal only under equal keys. */
function comparable(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(comparable);
  if (typeof part !== 'object' || part === null || Object.getPrototypeOf(part) !== Object.prototype) return part;
  if ('sign' in part && typeof part.sign === 'function') return (part as WebhookSigner).sign(PROBE);
  return Object.fromEntries(Object.entries(part).map(([name, member]) => [name, comparable(member)]));
}
