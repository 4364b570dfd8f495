import { StoreUnavailableError } from '@postern/elicitation';
import { UnsafeRedisError } from '@postern/store-redis';
import { ConfigError } from './config/config-error.ts';

/** The gateway cannot start as things stand on this machine. The message is for the operator and holds no secret. */
export class StartError extends Error {
  override name = 'StartError';
}

/** What an operator can mend, in plain words. Undefined for a surprise, whose text may hold anything. */
export function explanationOf(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof StartError || error instanceof UnsafeRedisError)
    return error.message;
  if (error instanceof StoreUnavailableError) return 'Redis does not answer at the configured address.';
  return undefined;
}
