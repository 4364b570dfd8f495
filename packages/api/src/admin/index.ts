export * from './admin-openapi.ts';
export * from './admin-operations.ts';
