export * from './connections.ts';
export * from './elicitations.ts';
export * from './openapi.ts';
export * from './operations.ts';
export * from './plain-text.ts';
export * from './problems.ts';
