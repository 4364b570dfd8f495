import { issuersOf } from '@postern/authorization';
import type { FastifyPluginAsync } from 'fastify';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { ConsoleParts } from './section.ts';
import { apiKeys } from './sections/api-keys.ts';
import { audit } from './sections/audit.ts';
import { connections } from './sections/connections.ts';
import { credentials } from './sections/credentials.ts';
import { elicitations } from './sections/elicitations.ts';
import { find } from './sections/find.ts';
import { jobs } from './sections/jobs.ts';
import { overview } from './sections/overview.ts';
import { payments } from './sections/payments.ts';
import { people } from './sections/people.ts';
import { webhooks } from './sections/webhooks.ts';

const sections = [
  overview,
  elicitations,
  connections,
  credentials,
  payments,
  webhooks,
  apiKeys,
  people,
  jobs,
  audit,
  find,
];

export interface ConsoleRoutesDeps extends Omit<ConsoleParts, 'app' | 'configured'> {
  readonly config: Pick<GatewayConfig, 'mcpServers' | 'providers' | 'identityProviders'>;
}

/** The pages of the console. They ask the admin service only. */
export const consoleRoutes: FastifyPluginAsync<ConsoleRoutesDeps> = async (app, { config, ...parts }) => {
  const configured = {
    mcpServers: config.mcpServers.map(({ id }) => id),
    providers: config.providers.map(({ name }) => name),
    issuers: [
      ...new Set([
        ...config.identityProviders.flatMap(issuersOf),
        ...config.mcpServers.flatMap(({ issuers }) => issuers),
      ]),
    ],
  };
  for (const addRoutes of sections.flat()) addRoutes({ app, configured, ...parts });
};
