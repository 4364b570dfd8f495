import { parseArgs } from 'node:util';
import type { Subject } from '@postern/elicitation';
import { VaultError } from '@postern/vault';
import { explanationOf } from '../platform/start-error.ts';
import { apiKeysAdd, apiKeysList, apiKeysRevoke } from './api-keys-commands.ts';
import { audit, auditPseudonym } from './audit-commands.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, UsageError } from './cli-io.ts';
import { elicitationsShow } from './elicitations-show.ts';
import { init } from './init/init.ts';
import { receiptsNewKey, vaultNewKey } from './new-key-commands.ts';
import { actorOf } from './open-admin.ts';
import { passkeysReset } from './passkeys-reset.ts';
import {
  peopleDisconnect,
  peopleErase,
  peopleExport,
  peopleShow,
  peopleSignOut,
  providersDisconnect,
} from './people-commands.ts';
import { redisAcceptLoss } from './redis-accept-loss.ts';
import { redisStatus } from './redis-status.ts';
import { vaultRewrap } from './vault-rewrap.ts';
import { vaultStatus } from './vault-status.ts';
import { webhooksDead, webhooksEnable, webhooksList, webhooksRedeliver } from './webhooks-commands.ts';
import { changeOf } from './who-and-why.ts';

const HELP = `postern: start and operate the gateway

  postern start [file]            start the gateway, as does postern alone; default $POSTERN_CONFIG or postern.config.yaml
  postern dev                     start a gateway for one MCP server on this machine, without a configuration file
  postern init                    ask, or take flags, and write a configuration with new keys
  postern check [file]            look for faults before users do: configuration, Redis, providers, keys, clock, publicUrl
  postern pages preview           show every page with the branding of the configuration, in a browser; needs no Redis
  postern vault status            list the keys in use and the number of stored values under each
  postern vault rewrap            re-wrap every stored value under the current key
  postern vault new-key           write a new key to a file and explain how to configure it
  postern receipts new-key        write a new key that signs receipts
  postern redis status            check that Redis has the data of this deployment
  postern redis accept-loss       resume with a Redis that has lost data which cannot be restored
  postern api-keys list           list the API keys of the configuration and of Redis
  postern api-keys add <MCP server> <name>
                                  add an API key without a reload, and print it once
  postern api-keys revoke <id> | --key-file <file>
                                  refuse an API key on all replicas
  postern audit                   print the audit trail in Redis, one JSON object per line
  postern audit pseudonym <issuer> <subject>
                                  print the pseudonym of a user in the audit trail
  postern elicitations show <id>  print the status and history of an elicitation, without secrets or user input
  postern people show <issuer> <subject>
                                  list what is stored about a user, without secrets; the audit trail records it
  postern people disconnect <issuer> <subject>
                                  remove all connections of a user; the gateway revokes their grants
  postern people sign-out <issuer> <subject>
                                  end all browser sessions of a user
  postern people export <issuer> <subject>
                                  print everything stored about a user as JSON, without secrets
  postern people erase <issuer> <subject>
                                  delete what is stored about a user, and say what stays
  postern providers disconnect <name>
                                  remove the connections of all users at a provider
  postern passkeys reset <issuer> <subject>
                                  remove all passkeys of a user; the next one approves payments after 24 hours
  postern webhooks list           list the endpoints with their status and pending deliveries
  postern webhooks dead           list failed deliveries with the reason
  postern webhooks redeliver <event id> | --all
                                  retry failed deliveries
  postern webhooks enable <endpoint>
                                  enable an endpoint that responded 410 or failed for 72 hours

Options
  -c, --config <file>   the gateway's configuration; default $POSTERN_CONFIG or postern.config.yaml
  -f, --follow          audit: keep printing new events
      --issuer <url> --subject <text>  audit: only events of this user
      --mcp-server <id> audit: only events of this MCP server
      --since <time>    audit: only events from then on; providers disconnect: only tokens stored from then on
      --reason <text>   api-keys add, revoke, people, providers: why, for the audit trail; required but for show
      --by <name>       who; default the name of the user of the system
      --dry-run         show what the command would do
      --key-file <file> revoke: the key itself; - reads standard input
      --yes             accept-loss: apply; without it, a dry run
      --all             accept-loss: in every shard, also of another deployment or after a restored backup
      --deployment <id> accept-loss: id of the deployment, if neither redis.deployment nor Redis has it
      --token-file <file>  check: show which user an access token stands for; - reads standard input
      --json            api-keys, check, status, rewrap, show, list, dead: one JSON document instead of text
      --kid <name>      new-key: name of the key; default key- and the date, for receipts its thumbprint
      --out <file>      new-key: output file, default <kid>.key or <kid>.jwk; api-keys add: instead of standard output
      --out <folder>    pages preview: write the pages to a new folder instead
  -h, --help            also of dev and init, which have options of their own

REDIS_URL overrides redis.url, as it does for the gateway.

Rotate a key in four steps, each on all replicas before the next: add the new key in second place of vault.keys; move it
to the first place; wait for the gateway to re-wrap, or run rewrap; remove the old key once status counts no value under it.

Exit codes: 0 success, 1 failure or work left to do, 2 wrong usage, 130 interrupted.
`;

const options = {
  config: { type: 'string', short: 'c' },
  json: { type: 'boolean', default: false },
  'token-file': { type: 'string' },
  follow: { type: 'boolean', short: 'f', default: false },
  kid: { type: 'string' },
  reason: { type: 'string' },
  by: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  'key-file': { type: 'string' },
  since: { type: 'string' },
  issuer: { type: 'string' },
  subject: { type: 'string' },
  'mcp-server': { type: 'string' },
  out: { type: 'string' },
  all: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  deployment: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Runs one command. Never throws. */
export async function runCli(args: readonly string[], io: CliIo): Promise<ExitCode> {
  try {
    if (args[0] === 'init') return await init(args.slice(1), io);
    const { values, positionals } = parse(args);
    if (values.help || positionals.length === 0) {
      io.out(HELP);
      return exitCodes.ok;
    }
    const configPath = values.config ?? io.env['POSTERN_CONFIG'] ?? 'postern.config.yaml';
    const { json } = values;
    if (positionals.join(' ') === 'audit')
      return await audit(
        {
          ...{ configPath, follow: values.follow, mcpServerId: values['mcp-server'], since: timeOf(values.since) },
          ...{ subject: subjectOf(values), actor: actorOf(values) },
        },
        io,
      );
    const [noun, verb, id, ...more] = positionals;
    if (noun === 'check' && id === undefined) {
      // Loads libraries that no other command needs.
      const { check } = await import('./check/check.ts');
      return await check({ configPath: verb ?? configPath, json, tokenFile: values['token-file'] }, io);
    }
    if (noun === 'api-keys') return await apiKeys(verb, [id, ...more], { ...values, configPath }, io);
    const [sub, ...rest] = more;
    if (id !== undefined && sub !== undefined && rest.length === 0) {
      const subject = { issuer: id, subject: sub };
      if (noun === 'passkeys' && verb === 'reset') return await passkeysReset({ configPath, subject }, io);
      if (noun === 'people') return await people(verb, { ...values, configPath }, subject, io);
      if (noun === 'audit' && verb === 'pseudonym') return auditPseudonym({ configPath, subject }, io);
    }
    if (id !== undefined && more.length === 0) {
      if (noun === 'providers' && verb === 'disconnect')
        return await providersDisconnect(
          {
            ...{ configPath, json, dryRun: values['dry-run'], provider: id, since: timeOf(values.since) },
            actor: actorOf(changeOf(values)),
          },
          io,
        );
      if (noun === 'elicitations' && verb === 'show')
        return await elicitationsShow({ configPath, json, elicitationId: id }, io);
      if (noun === 'webhooks' && verb === 'enable') return await webhooksEnable({ configPath, endpoint: id }, io);
      if (noun === 'webhooks' && verb === 'redeliver' && !values.all)
        return await webhooksRedeliver({ configPath, eventId: id }, io);
    }
    if (noun === 'webhooks' && verb === 'redeliver' && id === undefined && values.all)
      return await webhooksRedeliver({ configPath, eventId: undefined }, io);
    switch (positionals.join(' ')) {
      case 'vault status':
        return await vaultStatus({ configPath, json }, io);
      case 'vault rewrap':
        return await vaultRewrap({ configPath, json }, io);
      case 'vault new-key':
        return vaultNewKey({ kid: values.kid, out: values.out }, io);
      case 'pages preview': {
        // Loads the pages, which no other command needs.
        const { pagesPreview } = await import('./pages-preview.ts');
        return await pagesPreview({ configPath, out: values.out }, io);
      }
      case 'redis status':
        return await redisStatus({ configPath, json }, io);
      case 'redis accept-loss':
        return await redisAcceptLoss(
          { configPath, all: values.all, yes: values.yes, deployment: values.deployment },
          io,
        );
      case 'webhooks list':
        return await webhooksList({ configPath, json }, io);
      case 'webhooks dead':
        return await webhooksDead({ configPath, json }, io);
      case 'receipts new-key':
        return await receiptsNewKey({ kid: values.kid, out: values.out }, io);
      default:
        throw new UsageError(`There is no command "${positionals.join(' ')}".`);
    }
  } catch (error) {
    if (error instanceof UsageError) {
      io.err(`${error.message}\nTry: postern --help\n`);
      return exitCodes.usage;
    }
    io.err(`${textOf(error)}\n`);
    return exitCodes.failure;
  }
}

async function people(
  verb: string | undefined,
  values: ReturnType<typeof parse>['values'] & { readonly configPath: string },
  subject: Subject,
  io: CliIo,
): Promise<ExitCode> {
  const { configPath, json, 'dry-run': dryRun } = values;
  const read = { configPath, json, subject };
  if (verb === 'show') return peopleShow({ ...read, actor: actorOf(values) }, io);
  if (verb === 'export') return peopleExport({ ...read, actor: actorOf(changeOf(values)) }, io);
  const verbs = { disconnect: peopleDisconnect, 'sign-out': peopleSignOut, erase: peopleErase };
  if (verb !== 'disconnect' && verb !== 'sign-out' && verb !== 'erase')
    throw new UsageError(`There is no command "people ${verb ?? ''}".`);
  return verbs[verb]({ ...read, dryRun, actor: actorOf(changeOf(values)) }, io);
}

/** Reads `--since`. @throws UsageError */
function timeOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()) || !/^\d{4}-\d\d-\d\d/.test(text))
    throw new UsageError('--since must be a time such as 2026-11-23 or 2026-11-23T09:00:00Z.');
  return time;
}

/** Reads `--issuer` and `--subject`. @throws UsageError */
function subjectOf({ issuer, subject }: { readonly issuer?: string; readonly subject?: string }): Subject | undefined {
  if (issuer === undefined && subject === undefined) return undefined;
  if (issuer === undefined || subject === undefined) throw new UsageError('--subject needs --issuer, and the reverse.');
  return { issuer, subject };
}

async function apiKeys(
  verb: string | undefined,
  names: readonly (string | undefined)[],
  values: ReturnType<typeof parse>['values'] & { readonly configPath: string },
  io: CliIo,
): Promise<ExitCode> {
  const [first, second, ...more] = names;
  const { configPath, json, 'dry-run': dryRun, 'key-file': keyFile, out } = values;
  if (verb === 'list' && first === undefined) return apiKeysList({ configPath, json }, io);
  const change = changeOf(values);
  if (verb === 'add' && first !== undefined && second !== undefined && more.length === 0)
    return apiKeysAdd({ configPath, json, dryRun, change, mcpServerId: first, name: second, out }, io);
  if (verb === 'revoke' && second === undefined && (first === undefined) !== (keyFile === undefined))
    return apiKeysRevoke({ configPath, json, dryRun, change, apiKeyId: first, keyFile }, io);
  throw new UsageError('The commands are api-keys list, add <MCP server> <name> and revoke <id> | --key-file <file>.');
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'Cannot parse the arguments.');
  }
}

/** Shows only the name of an unexpected error, because its message may contain secrets. */
function textOf(error: unknown): string {
  if (error instanceof CliError || error instanceof VaultError) return error.message;
  return explanationOf(error) ?? `Unexpected: ${error instanceof Error ? error.name : typeof error}.`;
}
