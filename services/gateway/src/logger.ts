import { VaultError } from '@postern/vault';
import { type Logger, pino } from 'pino';
import { instance } from './instance.ts';
import { requestFields } from './request-context.ts';

export type { Logger };

/** The one logger. Only named fields are ever passed to it: no request, header, URL or body object. */
export function createLogger(p: { level: string; destination?: NodeJS.WritableStream }): Logger {
  const options = {
    level: p.level,
    base: { instance },
    messageKey: 'message',
    mixin: requestFields,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: safeError, err: safeError },
  };
  return p.destination === undefined ? pino(options) : pino(options, p.destination);
}

/**
 * Name, code and the stack's positions. Never `message` of a foreign error, `cause` or further members: libraries put
 * codes, tokens and whole URLs there.
 */
export function safeError(error: unknown): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const at = positionsOf(error)
    .split('\n')
    .filter(line => /^\s+at /.test(line))
    .slice(0, 8)
    .map(line => line.trim());
  // Which key is lost is what the operator must know, and names of keys are no secrets.
  const kid = error instanceof VaultError ? error.kid : undefined;
  return { name: error.name, ...(code === undefined ? {} : { code }), ...(kid === undefined ? {} : { kid }), at };
}

/** The stack without the message it begins with, which may have lines that look like positions. */
function positionsOf({ stack = '', message }: Error): string {
  const start = message === '' ? -1 : stack.indexOf(message);
  return start === -1 ? stack : stack.slice(start + message.length);
}
