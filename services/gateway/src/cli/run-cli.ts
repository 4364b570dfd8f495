import { parseArgs } from 'node:util';
import { VaultError } from '@postern/vault';
import { explanationOf } from '../start-error.ts';
import { audit } from './audit.ts';
import { auditPseudonym } from './audit-pseudonym.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { elicitationsShow } from './elicitations-show.ts';
import { passkeysReset } from './passkeys-reset.ts';
import { receiptsNewKey } from './receipts-new-key.ts';
import { redisAcceptLoss } from './redis-accept-loss.ts';
import { redisStatus } from './redis-status.ts';
import { vaultNewKey } from './vault-new-key.ts';
import { vaultRewrap } from './vault-rewrap.ts';
import { vaultStatus } from './vault-status.ts';
import { webhooksDead } from './webhooks-dead.ts';
import { webhooksEnable } from './webhooks-enable.ts';
import { webhooksList } from './webhooks-list.ts';
import { webhooksRedeliver } from './webhooks-redeliver.ts';

const HELP = `postern: the command beside the gateway

  postern vault status            which keys are in use, and for how many stored values
  postern vault rewrap            bring every stored value under the current key
  postern vault new-key           write a fresh key to a file, and say how to configure it
  postern receipts new-key        the same for a key that signs receipts
  postern redis status            whether Redis has the data of this deployment
  postern redis accept-loss       go on with a Redis that has lost data, once nothing can be restored
  postern audit                   the audit trail, where audit.stream keeps it: one JSON object per line
  postern audit pseudonym <issuer> <subject>
                                  the name under which a person stands there
  postern elicitations show <id>  for support: how one ask stands; nothing typed, nothing secret
  postern passkeys reset <issuer> <subject>
                                  for somebody who has lost all their passkeys; the next one counts a day later
  postern webhooks list           how each endpoint stands, and what waits for it
  postern webhooks dead           deliveries that were given up, with the reason
  postern webhooks redeliver <event id> | --all
                                  begins anew with those
  postern webhooks enable <endpoint>
                                  after its receiver said 410, or failed for 72 hours

Options
  -c, --config <file>   the gateway's configuration; default $POSTERN_CONFIG or postern.config.yaml
  -f, --follow          audit: go on with what comes
      --yes             accept-loss: do it; without it, says what would be done
      --all             accept-loss: in every shard, also of another deployment or after a backup was restored
      --deployment <id> accept-loss: whose data it was, where neither redis.deployment nor Redis says so
      --json            status, rewrap, show, list, dead: one JSON document instead of text
      --kid <name>      new-key: name of the key; default key- and the date, for receipts its thumbprint
      --out <file>      new-key: where to write it; default <kid>.key or <kid>.jwk
  -h, --help

REDIS_URL overrides redis.url, as it does for the gateway.

Rotation takes four steps, each on all replicas before the next: add the new key in second place of vault.keys; move it
to the first; wait for the gateway to re-wrap, or run rewrap; remove the old key when status counts nothing under it.

Exit codes: 0 fine, 1 something is wrong or left to do, 2 wrong usage, 130 stopped by Ctrl-C.
`;

const options = {
  config: { type: 'string', short: 'c' },
  json: { type: 'boolean', default: false },
  follow: { type: 'boolean', short: 'f', default: false },
  kid: { type: 'string' },
  out: { type: 'string' },
  all: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  deployment: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** One run of the command; never throws. */
export async function runCli(args: readonly string[], io: CliIo): Promise<ExitCode> {
  try {
    const { values, positionals } = parse(args);
    if (values.help || positionals.length === 0) {
      io.out(HELP);
      return exitCodes.fine;
    }
    const configPath = values.config ?? io.env['POSTERN_CONFIG'] ?? 'postern.config.yaml';
    const { json } = values;
    if (positionals.join(' ') === 'audit') return await audit({ configPath, follow: values.follow }, io);
    const [noun, verb, id, ...more] = positionals;
    const [subject, ...rest] = more;
    if (id !== undefined && subject !== undefined && rest.length === 0) {
      const person = { issuer: id, subject };
      if (noun === 'passkeys' && verb === 'reset') return await passkeysReset({ configPath, subject: person }, io);
      if (noun === 'audit' && verb === 'pseudonym') return auditPseudonym({ configPath, subject: person }, io);
    }
    if (id !== undefined && more.length === 0) {
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
      return exitCodes.misuse;
    }
    io.err(`${textOf(error)}\n`);
    return exitCodes.trouble;
  }
}

class UsageError extends Error {
  override name = 'UsageError';
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The arguments cannot be read.');
  }
}

/** Nothing is said of a surprise but its name: its text may hold anything. */
function textOf(error: unknown): string {
  if (error instanceof CliError || error instanceof VaultError) return error.message;
  return explanationOf(error) ?? `Unexpected: ${error instanceof Error ? error.name : typeof error}.`;
}
