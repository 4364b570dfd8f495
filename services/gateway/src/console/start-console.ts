import type { ConsoleConfig } from '../platform/config/console-config.ts';
import { type ListenerRequests, openListener } from '../platform/http/listener.ts';
import { createClientErrorHandler } from '../platform/http/problems.ts';
import { securityHeaders } from '../platform/http/security-headers.ts';
import { closeListener } from '../platform/stopping.ts';

export interface ConsoleListener extends AsyncDisposable {
  /** Local URL of the listener, behind any proxy. */
  readonly address: string;
}

/** Of requests on one connection. */
const PIPELINED = 16;
/** Enough for the operators. */
const MAX_CONNECTIONS = 256;
const HANDLER_MS = 60_000;

/** Opens the listener of the console, or of the admin API. @throws StartError if the address is in use */
export async function openConsoleListener(
  config: Pick<ConsoleConfig, 'publicUrl' | 'listen'>,
  { finishMs, ...requests }: ListenerRequests & { readonly finishMs: number },
): Promise<ConsoleListener> {
  const { httpServer, address } = await openListener({
    ...config.listen,
    maxConnections: MAX_CONNECTIONS,
    handlerMs: HANDLER_MS,
    ...requests,
    pipelined: PIPELINED,
    onClientError: createClientErrorHandler(securityHeaders(config.publicUrl)),
    onDrop: () => {},
  });
  return {
    address,
    async [Symbol.asyncDispose]() {
      await closeListener(httpServer, { lingerMs: 0, finishMs, onDeaf: () => {} });
    },
  };
}
