import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isSeq, parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import { apiKeyHash, newApiKey } from '../mcp-servers/api-keys.ts';
import { ConfigError, type ConfigFault } from '../platform/config/config-error.ts';
import type { GatewayConfig, GatewayConfigInput } from '../platform/config/config-schema.ts';
import { configOfText, parsedYaml } from '../platform/config/load-config.ts';
import { mcpServerSchema } from '../platform/config/mcp-server-config.ts';
import { redirectUriOf } from '../platform/http/public-urls.ts';
import { reloadAdvice } from '../platform/operating-system.ts';
import { gatewayHere } from './check/public-url-check.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, UsageError } from './cli-io.ts';
import type { Invocation } from './command.ts';
import { WRITTEN_BY_DEV } from './dev/dev-options.ts';
import { editFile, newPrivateFile } from './private-files.ts';

type Entry = GatewayConfigInput['mcpServers'][number];

/** Longer than a gateway takes to notice a changed file and to load it, in ms. */
const TAKEN_WITHIN_MS = 10_000;
/** Each refused request is a line in the audit trail. */
const ASK_EVERY_MS = 1_000;

/** `postern mcp-servers add`: writes the entry of an MCP server into the configuration file, and prints its API key once. */
export async function mcpServersAdd(p: Invocation, io: CliIo): Promise<ExitCode> {
  const { configPath, args, values } = p;
  const { url, out } = values;
  const [id = ''] = args;
  if (url === undefined) throw new UsageError('--url is needed.');
  const key = newApiKey();
  let write: ((text: string) => void) | undefined;
  let config: GatewayConfig | undefined;
  editFile(configPath, before => {
    const entry = entryOf(before, { id, url, hash: apiKeyHash(key), values });
    const after = withEntry(before, entry);
    config = verified(before, after, io.env);
    // Before the entry is in force: a key that cannot be written would be lost.
    write = out === undefined ? undefined : newPrivateFile(out);
    return after;
  });
  write?.(`${key}\n`);
  if (p.json) io.out(`${JSON.stringify({ mcpServerId: id, ...(write ? {} : { key }) })}\n`);
  else if (write === undefined) io.out(`${key}\n`);
  const redirects = config?.mcpServers.at(-1)?.providers ?? [];
  io.err(
    [
      `Added "${id}" to ${configPath}. ${write === undefined ? 'The key is not shown again.' : `The key is in ${out}.`}`,
      ...redirects.map(
        name => `Redirect URI to register at ${name}: ${redirectUriOf(config?.publicUrl ?? '', id, name).href}`,
      ),
      '',
    ].join('\n'),
  );
  return await reportTaken(config, key, io);
}

/** Writes an entry into a configuration file as it is. @throws CliError */
export function addEntry(configPath: string, entry: Entry, env: CliIo['env']): void {
  editFile(configPath, before => {
    const after = withEntry(before, entry);
    verified(before, after, env);
    return after;
  });
}

/** Builds the entry. @throws CliError */
function entryOf(
  text: string,
  { id, url, hash, values }: { id: string; url: string; hash: string; values: Invocation['values'] },
): Entry {
  if (text.startsWith(WRITTEN_BY_DEV))
    throw new CliError(
      'postern dev writes this file at each start, for one MCP server. Write a configuration with postern init.',
    );
  const { issuer, providers, name = id } = values;
  const others = mcpServersIn(parsedYaml(text));
  if (others.some(other => other.id === id)) throw new CliError(`The configuration has an MCP server "${id}" already.`);
  const last = others.at(-1);
  // On a machine of one person, users sign in nowhere. Who identifies users is never guessed otherwise.
  const loopback = others.every(({ identity }) => identity?.mode === 'loopback') ? last : undefined;
  const issuers = issuer === undefined ? loopback?.issuers : [issuer];
  const entry = {
    id,
    name,
    url,
    apiKeys: [{ hash }],
    ...(issuers && { issuers: [...issuers] }),
    ...(loopback && { identity: { mode: 'loopback' as const } }),
    ...(providers !== undefined && { providers: providers.split(',').filter(each => each !== '') }),
  };
  const { error } = mcpServerSchema.safeParse(entry);
  if (error !== undefined)
    throw new CliError(error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`).join('\n'));
  return entry;
}

const fileSchema = z.looseObject({
  mcpServers: z
    .array(
      z.looseObject({
        id: z.string(),
        issuers: z.array(z.string()).optional(),
        identity: z.looseObject({ mode: z.string() }).optional(),
      }),
    )
    .min(1),
});

function mcpServersIn(document: unknown) {
  const { data } = fileSchema.safeParse(document);
  if (data === undefined) throw new CliError('The configuration has no valid mcpServers. See postern check.');
  return data.mcpServers;
}

/**
 * Returns the text with one more MCP server at the end of its list. Every other character stays: comments, order and spelling are the
 * operator's.
 * @throws CliError
 */
export function withEntry(text: string, entry: Entry): string {
  const list = parseDocument(text, { keepSourceTokens: true }).get('mcpServers', true);
  const last = isSeq(list) ? list.items.at(-1) : undefined;
  const range = z.looseObject({ range: z.tuple([z.number(), z.number(), z.number()]) }).safeParse(last).data?.range;
  const cannot = () => new CliError(`Cannot find the place. Add to mcpServers by hand:\n${stringify([entry])}`);
  if (!isSeq(list) || range === undefined) throw cannot();
  const [start, valueEnd] = range;
  const end = start + text.slice(start, valueEnd).trimEnd().length;
  let inserted: string;
  let at = end;
  if (list.flow === true) inserted = `, ${JSON.stringify(entry)}`;
  else {
    const indent = list.srcToken !== undefined && 'indent' in list.srcToken ? list.srcToken.indent : 0;
    // Comments below the last entry that are indented as its members belong to it.
    const own = new RegExp(`^[^\\n]*(?:\\n(?:[ \\t]*\\r?\\n)* {${indent + 1},}#[^\\n]*)*`).exec(text.slice(end));
    at += own?.[0].trimEnd().length ?? 0;
    const lines = stringify([entry], { lineWidth: 0 }).trimEnd().split('\n');
    inserted = lines.map(line => `\n${' '.repeat(indent)}${line}`).join('');
  }
  const result = `${text.slice(0, at)}${inserted}${text.slice(at)}`;
  const before = parsedYaml(text);
  const expected = { ...Object(before), mcpServers: [...mcpServersIn(before), entry] };
  if (!isDeepStrictEqual(comparable(result), expected)) throw cannot();
  return result;
}

/** Undefined for a text that is no YAML any more. */
function comparable(text: string): unknown {
  try {
    return parsedYaml(text);
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/**
 * Refuses an entry that adds a fault. The configuration may have faults here that it does not have where the gateway runs, such as
 * variables that are not set: then only the gateway can judge it, and the result is undefined.
 * @throws CliError
 */
function verified(before: string, after: string, env: CliIo['env']): GatewayConfig | undefined {
  const known = new Set(configIn(before, env).faults.map(textOf));
  const { faults, config } = configIn(after, env);
  const added = faults.map(textOf).filter(text => !known.has(text));
  if (added.length > 0) throw new CliError(`${added.join('\n')}\nNothing was written.`);
  return config;
}

function configIn(text: string, env: CliIo['env']) {
  try {
    return { faults: [], config: configOfText(text, env) };
  } catch (error) {
    if (error instanceof ConfigError) return { faults: error.faults, config: undefined };
    throw error;
  }
}

const textOf = ({ path, message }: ConfigFault): string => `${path}: ${message}`;

/** Waits until the running gateway accepts the key, and says so. Sends the key only to a gateway that knows the vault keys. */
async function reportTaken(config: GatewayConfig | undefined, key: string, io: CliIo): Promise<ExitCode> {
  const inLog = 'its log says config.reloaded, or config.refused with each fault';
  if (config?.reload.watch === false) {
    io.err(`The gateway loads it ${reloadAdvice()} (reload.watch is false).\n`);
    return exitCodes.ok;
  }
  const origin = config && (await gatewayHere(config));
  if (origin === undefined) {
    io.err(`No gateway of this configuration was found here. A running one loads the file within seconds: ${inLog}.\n`);
    return exitCodes.ok;
  }
  const signal = AbortSignal.timeout(TAKEN_WITHIN_MS);
  while (!signal.aborted) {
    await delay(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    const answer = await fetch(`${origin}/v1/me`, {
      headers: { authorization: `Bearer ${key}` },
      redirect: 'error',
      signal,
    }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 200) {
      io.err(`The gateway at ${origin} accepts the key.\n`);
      return exitCodes.ok;
    }
  }
  throw new CliError(`The gateway at ${origin} does not accept the key yet: ${inLog}.`);
}
