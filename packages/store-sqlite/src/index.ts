export { UnusableFileError } from './database.ts';
export { createSqliteStores, type SqliteStores, type SqliteStoresOptions } from './sqlite-stores.ts';
