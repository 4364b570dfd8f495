import { hostname } from 'node:os';
import { VaultError } from '@postern/vault';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { requestFields } from './http/request-context.ts';

export type { Logger };

/** Identifies this process in the log. In a container, the host name is that of the container or pod. */
export const instance: string = `${hostname()}:${process.pid}`;

/** Creates the logger of the process. Callers pass named fields only: never a request, header, URL or body object. */
export function createLogger(p: { level: string; destination?: NodeJS.WritableStream }): Logger {
  const options = {
    level: p.level,
    base: { instance },
    messageKey: 'message',
    mixin: requestFields,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: safeError, err: safeError },
  };
  // Synchronous: an audit record that was logged survives a crash of the process. A reader that stops reading stops the gateway.
  return pino(options, p.destination ?? pino.destination({ fd: 1, sync: true }));
}

/**
 * Returns the name, code and stack positions of an error. Never its `message`, `cause` or other members: libraries put codes, tokens
 * and whole URLs there.
 */
export function safeError(error: unknown): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const at = positionsOf(error)
    .split('\n')
    .filter(line => /^\s+at /.test(line))
    .slice(0, 8)
    .map(line => line.trim());
  // The operator must know which key is missing, and why its service fails. Key ids are not secret.
  const { kid, fault } = error instanceof VaultError ? error : {};
  return { name: error.name, code, kid, fault, at };
}

/** Returns the stack without the leading message, because the message may contain lines that look like positions. */
function positionsOf({ stack = '', message }: Error): string {
  const start = message === '' ? -1 : stack.indexOf(message);
  return start === -1 ? stack : stack.slice(start + message.length);
}
