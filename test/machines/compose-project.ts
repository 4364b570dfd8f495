import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { repository } from './repository.ts';

const text = z.string();
const serviceSchema = z.strictObject({
  image: text.optional(),
  build: z
    .strictObject({ context: z.literal('.'), dockerfile: z.literal('infra/Dockerfile'), target: text })
    .optional(),
  command: z.array(text).optional(),
  user: text.optional(),
  environment: z.record(text, text).default({}),
  volumes: z.array(text).default([]),
  healthcheck: z.strictObject({ test: z.array(text), interval: text, timeout: text, retries: z.number() }).optional(),
  stop_grace_period: text.default('10s'),
  restart: text.optional(),
  init: z.literal(true),
  read_only: z.literal(true),
  tmpfs: z.tuple([z.literal('/tmp')]),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  pids_limit: z.number(),
  ulimits: z.strictObject({ core: z.literal(0) }),
  mem_limit: text,
  ports: z.array(text).optional(),
  networks: z.array(text).optional(),
  network_mode: z.literal('host').optional(),
  profiles: z.array(text).optional(),
  depends_on: z.record(text, z.strictObject({ condition: z.literal('service_healthy') })).default({}),
});

/** A service as Compose would start it. */
export type Service = z.infer<typeof serviceSchema>;

const fileSchema = z.object({ services: z.record(text, z.record(text, z.unknown()).nullable()) });

/** Marks of the Compose files: the value replaces the one of the file before, or removes it. */
class Override {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}
const customTags = [
  {
    tag: '!override',
    collection: 'map' as const,
    resolve: (node: { toJSON(): unknown }) => new Override(node.toJSON()),
  },
  { tag: '!reset', resolve: () => null },
];

/**
 * Reads Compose files of the repository, merges them, and fills in the values, as `docker compose config` does for what our files
 * use of it. @throws for everything else, and for a value that `${NAME:?}` asks for and that is missing or empty
 */
export function readComposeProject(
  files: readonly string[],
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, Service>> {
  const merged: Record<string, Record<string, unknown>> = {};
  for (const file of files) {
    const parsed: unknown = parse(readFileSync(join(repository, file), 'utf8'), {
      merge: true,
      uniqueKeys: true,
      customTags,
    });
    for (const [name, service] of Object.entries(fileSchema.parse(filledIn(parsed, values)).services)) {
      if (service === null) delete merged[name];
      else merged[name] = mergeService(merged[name] ?? {}, service);
    }
  }
  return z.record(text, serviceSchema).parse(merged);
}

function mergeService(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...before };
  for (const [name, value] of Object.entries(after)) {
    if (value instanceof Override) merged[name] = value.value;
    else if (name === 'volumes') merged[name] = mergeVolumes(before[name], value);
    else if (isMap(before[name]) && isMap(value)) merged[name] = { ...before[name], ...value };
    else merged[name] = value;
  }
  return merged;
}

/** The later one of two volumes with the same target wins. */
function mergeVolumes(before: unknown, after: unknown): readonly string[] {
  const volumes = z.array(text).default([]);
  const byTarget = [...volumes.parse(before), ...volumes.parse(after)].map(
    volume => [volume.split(':')[1], volume] as const,
  );
  return [...new Map(byTarget).values()];
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function filledIn(value: unknown, values: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') return fillIn(value, values);
  if (value instanceof Override) return new Override(filledIn(value.value, values));
  if (Array.isArray(value)) return value.map(item => filledIn(item, values));
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filledIn(item, values)]));
}

function fillIn(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(
    /\$\{([A-Z_]+)(:\?[^}]*)?(?::-([^}]*))?\}|\$/g,
    (reference, name: string | undefined, required, otherwise = '') => {
      if (name === undefined) throw new SyntaxError(`a $ that is no \${NAME}: ${template}`);
      const value = values[name] || otherwise;
      if (value === '' && required !== undefined) throw new Error(`${reference}: no value`);
      return value;
    },
  );
}
