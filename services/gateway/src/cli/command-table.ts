import { adminCredentialsCommands } from './admin-credentials-commands.ts';
import { apiKeysCommands } from './api-keys-commands.ts';
import { auditCommands } from './audit-commands.ts';
import type { Command } from './command.ts';
import { elicitationsCommands } from './elicitations-show.ts';
import { findCommands } from './find.ts';
import { jobsCommands } from './jobs-commands.ts';
import { localCommands } from './local-commands.ts';
import { newKeyCommands } from './new-key-commands.ts';
import { paymentsCommands } from './payments-commands.ts';
import { passkeysCommands, peopleCommands } from './people-commands.ts';
import { redisCommands } from './redis-accept-loss.ts';
import { replicasCommands } from './replicas-commands.ts';
import { vaultCommands } from './vault-rewrap.ts';
import { webhooksCommands } from './webhooks-commands.ts';

/** Commands that load libraries which no other command needs. */
const heavyCommands: readonly Command[] = [
  {
    name: 'check',
    parameters: ['[file]'],
    about: 'look for faults before users do: configuration, Redis, providers, keys, clock, publicUrl',
    options: { 'token-file': true },
    json: 'document',
    changes: false,
    isLocal: true,
    failure: 'a check failed',
    run: async (p, io) => (await import('./check/check.ts')).check(p, io),
  },
  {
    name: 'pages preview',
    about: 'show every page with the branding of the configuration, in a browser; needs no Redis',
    options: { out: 'write the pages to this new folder instead' },
    json: 'never',
    changes: false,
    isLocal: true,
    run: async (p, io) => (await import('./pages-preview.ts')).pagesPreview(p, io),
  },
  {
    name: 'mcp-servers add',
    parameters: ['<id>'],
    about: 'add an MCP server to the configuration file, and print its API key once',
    options: {
      url: true,
      name: true,
      providers: true,
      issuer: 'issuer of its users, if there are several identity providers',
      out: 'write the key to this new file instead of standard output',
    },
    json: 'document',
    changes: false,
    isLocal: true,
    failure: 'the running gateway does not accept the key within ten seconds',
    run: async (p, io) => (await import('./mcp-servers-add.ts')).mcpServersAdd(p, io),
  },
];

/** Every command of operators that `runCli` runs, in the order of the help. `start`, `dev` and `init` have arguments of their own. */
export const commandTable: readonly Command[] = [
  ...heavyCommands,
  ...localCommands,
  ...vaultCommands,
  ...newKeyCommands,
  ...redisCommands,
  ...replicasCommands,
  ...apiKeysCommands,
  ...adminCredentialsCommands,
  ...auditCommands,
  ...findCommands,
  ...elicitationsCommands,
  ...peopleCommands,
  ...jobsCommands,
  ...paymentsCommands,
  ...passkeysCommands,
  ...webhooksCommands,
];
