/** @internal Tests use it. The gateway does not yet. */
export { createSqliteStores } from './sqlite-stores.ts';
