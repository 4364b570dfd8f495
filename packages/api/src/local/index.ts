/** The local socket of a gateway on one person's machine: places, messages, and the caller's side. Needs Node.js. */
export * from './background.ts';
export * from './find-gateway.ts';
export * from './link.ts';
export * from './message-line.ts';
export * from './messages.ts';
export * from './places.ts';
export * from './private-files.ts';
export * from './system.ts';
