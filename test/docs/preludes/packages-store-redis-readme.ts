/** Predefined names for the examples of packages/store-redis/README.md. */
import type { ElicitationService } from '@postern/elicitation';

export { startSweeper } from '@postern/elicitation';
export { createRedisStores } from '@postern/store-redis';
export declare const service: ElicitationService;
export declare function onError(error: unknown): void;
