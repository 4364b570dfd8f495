export { createMemoryStores, type MemoryStores, type MemoryStoresOptions } from './memory-stores.ts';
