import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';

export interface TlsProxy extends AsyncDisposable {
  /** `https://localhost` with the port. */
  readonly origin: string;
  /** Sets the target of the requests from now on. */
  leadTo(address: string): void;
}

/** A TLS-terminating proxy in front of a gateway, with a throw-away certificate. Forwards every byte. */
export async function startTlsProxy(): Promise<TlsProxy> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  });
  let target: URL | undefined;
  const httpsServer = createServer({ key, cert }, (incoming, response) => {
    const onward = request(
      {
        host: target?.hostname,
        port: target?.port,
        method: incoming.method,
        path: incoming.url,
        headers: incoming.headers,
        setHost: false,
      },
      answer => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(httpsServer, 'listening');

  return {
    origin: `https://localhost:${(httpsServer.address() as AddressInfo).port}`,
    leadTo(address) {
      target = new URL(address);
    },
    async [Symbol.asyncDispose]() {
      httpsServer.closeAllConnections();
      httpsServer.close();
      await once(httpsServer, 'close');
    },
  };
}
