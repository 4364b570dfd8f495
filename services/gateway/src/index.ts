export { runCli } from './cli/run-cli.ts';
export { ConfigError } from './config/config-error.ts';
export { configJsonSchema } from './config/config-json-schema.ts';
export type { GatewayConfig, GatewayConfigInput } from './config/config-schema.ts';
export { loadConfig, parseConfig } from './config/load-config.ts';
export type { DepsOptions, GatewayDeps } from './deps.ts';
export { type EmbeddedRedis, startEmbeddedRedis } from './embedded-redis.ts';
export { type Gateway, startGateway } from './gateway.ts';
export { createLogger, type Logger } from './logger.ts';
