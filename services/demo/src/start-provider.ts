import { createOpenIdServer, type Provider } from '@postern/openid-server';
import { type HttpListener, listenHttp } from './listen-http.ts';

/** An OpenID provider of the demo, which listens on loopback. */
export interface DemoProvider extends HttpListener {
  readonly issuer: string;
  readonly provider: Provider;
}

export async function startProvider(
  options: { readonly port: number } & Omit<Parameters<typeof createOpenIdServer>[0], 'issuer'>,
): Promise<DemoProvider> {
  const issuer = `http://localhost:${options.port}`;
  const provider = await createOpenIdServer({ ...options, issuer });
  return { ...(await listenHttp(options.port, provider.callback())), issuer, provider };
}
