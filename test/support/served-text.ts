import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server, ServerResponse } from 'node:http';

/** Records all bodies and redirects that a gateway sends from now on. */
export function watchServedText(address: string): { readonly text: () => string } & Disposable {
  const port = Number(new URL(address).port);
  const served: string[] = [];
  const onRequest = (message: unknown): void => {
    const { response, server } = message as { response: ServerResponse; server: Server };
    const bound = server.address();
    if (typeof bound !== 'object' || bound?.port !== port) return;
    const { end } = response;
    response.end = ((...args: Parameters<typeof end>) => {
      served.push(String((args as unknown[])[0] ?? ''), String(response.getHeader('location') ?? ''));
      return end.apply(response, args);
    }) as typeof end;
  };
  subscribe('http.server.request.start', onRequest);
  return {
    text: () => served.join('\n'),
    [Symbol.dispose]: () => void unsubscribe('http.server.request.start', onRequest),
  };
}
