import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { createLogger, type Gateway, type GatewayConfig, startGateway } from '@postern/gateway';

const gatewaySources = dirname(createRequire(import.meta.url).resolve('@postern/gateway'));

/** Starts a gateway in this process and discards its log. */
export async function startDocumentedGateway(config: GatewayConfig): Promise<Gateway> {
  // Load it first: a gateway loads it while connected to Redis, and transforming it for tests exceeds the command
  // timeout.
  await import(join(gatewaySources, 'events/webhooks/webhooks.ts'));
  const destination = new Writable({ write: (_chunk, _encoding, done) => done() });
  return startGateway(config, { logger: createLogger({ level: 'error', destination }) });
}
