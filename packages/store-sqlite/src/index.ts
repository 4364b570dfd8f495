export { UnusableFileError } from './database.ts';
export { createSqliteStores, type SqliteStoresOptions } from './sqlite-stores.ts';
