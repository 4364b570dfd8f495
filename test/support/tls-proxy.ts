import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';

export interface TlsProxy extends AsyncDisposable {
  /** `https://localhost`, or the address that it listens on, with the port. */
  readonly origin: string;
  /** Its certificate, which no authority has signed, as PEM. */
  readonly certificate: string;
  /** Sets the target of the requests from now on. */
  leadTo(address: string): void;
}

/**
 * A TLS-terminating proxy in front of a gateway or a service, with a throw-away certificate. Forwards every byte.
 * @param p.host the IP address to listen on, which the certificate names. Default: 127.0.0.1, named as localhost
 */
export async function startTlsProxy({ host }: { readonly host?: string } = {}): Promise<TlsProxy> {
  const name = host ?? 'localhost';
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'subjectAltName', altNames: [host === undefined ? { type: 2, value: name } : { type: 7, ip: host }] },
    ],
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
  }).listen(0, host ?? '127.0.0.1');
  await once(httpsServer, 'listening');

  return {
    certificate: cert,
    origin: `https://${name}:${(httpsServer.address() as AddressInfo).port}`,
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
