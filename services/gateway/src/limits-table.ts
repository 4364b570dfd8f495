import {
  ARGUMENT_LIMITS,
  MAX_CREDENTIAL_LENGTH,
  MAX_FORM_BYTES,
  MAX_FORM_OPTIONS,
  MAX_FORM_PROPERTIES,
  MAX_FORM_TEXT_LENGTH,
  MAX_WAIT_SECONDS,
  TTL_SECONDS,
} from '@postern/api';
import { z } from 'zod';
import { CHECKS, CHECKS_WITHIN_MS } from './entries/submission-flow.ts';
import { MAX_BEHIND, MAX_LIFETIME_MS } from './events/event-stream.ts';
import { HANDLER_MS, MAX_BODY_BYTES } from './generation.ts';
import { MAX_PASSKEYS } from './identity/passkeys/user-passkeys.ts';
import { MAX_POSTED_BYTES } from './pages/page-request.ts';
import { MAX_WEBHOOK_BYTES } from './payments/processor-webhooks.ts';
import { configJsonSchemaText } from './platform/config/config-json-schema.ts';
import { HEADERS_MS, MAX_HEADER_BYTES, REQUEST_MS } from './platform/http/listener.ts';
import { MAX_PIECES, UNREAD_MS } from './platform/http/unknown-callers.ts';

/** The settings that are limits, or the objects of them. `[]` stands for each item. */
const settings = [
  'mcpServers[].limits',
  'mcpServers[].webhooks[].ratePerSecond',
  'mcpServers[].webhooks[].concurrency',
  'limits',
  'overload',
  'browserSession',
  'events',
  'outbound.timeoutSeconds',
];

const kib = (bytes: number) => `${bytes / 1024} KiB`;
const seconds = (ms: number) => `${ms / 1000} s`;

const fixed: readonly (readonly [string, string])[] = [
  [
    'lifetime of an elicitation',
    `${TTL_SECONDS.min} s to ${TTL_SECONDS.max} s, without \`ttlSeconds\` ${TTL_SECONDS.default} s`,
  ],
  ['`wait` of a waiting read', `${MAX_WAIT_SECONDS} s`],
  ['fields of a form', `${MAX_FORM_PROPERTIES}`],
  ['options of a choice', `${MAX_FORM_OPTIONS}`],
  ['schema of a form', kib(MAX_FORM_BYTES)],
  ['text of a form, value of a credential', `${MAX_FORM_TEXT_LENGTH} and ${MAX_CREDENTIAL_LENGTH} characters`],
  [
    'arguments of a confirmation',
    `${kib(ARGUMENT_LIMITS.bytes)}, ${ARGUMENT_LIMITS.values} values, ${ARGUMENT_LIMITS.depth} levels`,
  ],
  ['checks of a typed credential', `${CHECKS} in ${seconds(CHECKS_WITHIN_MS)}, per user and credential`],
  ['passkeys of a user', `${MAX_PASSKEYS}`],
  ['request body', kib(MAX_BODY_BYTES)],
  ['posted form', `what its page can contain, at most ${kib(MAX_POSTED_BYTES)}`],
  ['webhook of a processor', kib(MAX_WEBHOOK_BYTES)],
  ['headers', `${kib(MAX_HEADER_BYTES)}, in ${seconds(HEADERS_MS)}`],
  ['whole request, then its handler', `${seconds(REQUEST_MS)}, then ${seconds(HANDLER_MS)}`],
  ['chunks or packets of a request body', `${MAX_PIECES}`],
  ['reading a response', seconds(UNREAD_MS)],
  ['event stream', `${seconds(MAX_LIFETIME_MS)}, and ${kib(MAX_BEHIND)} of unread data`],
];

interface Schema {
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
}
const schemaSchema: z.ZodType<Schema> = z.object({
  description: z.string().optional(),
  default: z.unknown().optional(),
  get properties() {
    return z.record(z.string(), schemaSchema).optional();
  },
  get items() {
    return schemaSchema.optional();
  },
});

function rowsOf(path: string, schema: Schema): readonly string[] {
  if (schema.properties !== undefined)
    return Object.entries(schema.properties).flatMap(([name, member]) => rowsOf(`${path}.${name}`, member));
  const { description = '' } = schema;
  const [, about = description, stated] = /^(.*?) ?Default: (.*)\.$/.exec(description) ?? [];
  const [limited = ''] = about.replace(/^Maximum | of this MCP server|(?<=per) gateway/g, '').split(/\.(?: |$)/);
  const text = limited.replace(/^(?!Redis)[A-Z](?=[a-z])/, letter => letter.toLowerCase());
  return [`- \`${path}\` (${String(schema.default ?? stated ?? 'none')}): ${text}`];
}

function settingRows(): readonly string[] {
  const root = schemaSchema.parse(JSON.parse(configJsonSchemaText()));
  return settings.flatMap(path => {
    let schema: Schema | undefined = root;
    for (const step of path.split('.')) {
      schema = schema?.properties?.[step.replace('[]', '')];
      if (step.endsWith('[]')) schema = schema?.items;
    }
    if (schema === undefined) throw new Error(`no setting ${path}`);
    return rowsOf(path, schema);
  });
}

/** Replaces the two lists in the text of docs/limits.md (`node services/gateway/src/write-limits.ts`). */
export function withLimits(markdown: string): string {
  const lists = {
    settings: settingRows().join('\n'),
    fixed: fixed.map(([what, most]) => `- ${what}: ${most}`).join('\n'),
  };
  return Object.entries(lists).reduce((text, [name, rows]) => {
    const [before, rest] = text.split(`<!-- ${name} -->\n`);
    const after = rest?.split(`<!-- /${name} -->`)[1];
    if (before === undefined || after === undefined) throw new Error(`docs/limits.md has no markers for ${name}`);
    return `${before}<!-- ${name} -->\n${rows}\n<!-- /${name} -->${after}`;
  }, markdown);
}
