export { type Gateway, startGateway } from './gateway.ts';
/** @internal Tests of the whole gateway read the faults of a configuration. */
export { ConfigError } from './platform/config/config-error.ts';
export type { GatewayConfig, GatewayConfigInput } from './platform/config/config-schema.ts';
export {
  /** @internal Tests of the documents read the configurations in them. */ loadConfig,
  parseConfig,
} from './platform/config/load-config.ts';
export { createLogger } from './platform/logger.ts';
