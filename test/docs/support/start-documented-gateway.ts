import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { createLogger, type Gateway, type GatewayConfig, startGateway } from '@postern/gateway';

const gatewaySources = dirname(createRequire(import.meta.url).resolve('@postern/gateway'));

/** Starts a gateway in this process whose log is dropped. */
export async function startDocumentedGateway(config: GatewayConfig): Promise<Gateway> {
  // A gateway loads this while it is connected to Redis; transforming it for tests takes longer than Redis may be silent.
  await import(join(gatewaySources, 'webhooks/webhooks.ts'));
  const destination = new Writable({ write: (_chunk, _encoding, done) => done() });
  return startGateway(config, { logger: createLogger({ level: 'error', destination }) });
}
