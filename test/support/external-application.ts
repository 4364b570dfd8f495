import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { VerifiedElicitationBody } from '@postern/api';
import { keyOf, type World } from './world.ts';

type VerifyAnswer = Partial<VerifiedElicitationBody> & { readonly code?: string };

/** What the application reports to the gateway. `authTime` in epoch seconds, by default now. */
interface VerifiedUser {
  readonly elicitationId: string;
  readonly verificationId: string;
  readonly subject: string;
  readonly authTime?: number;
}

/** A request of the application to the gateway, with the response. */
interface Verification {
  readonly subject: string;
  readonly elicitationId: string;
  readonly verificationId: string;
  readonly status: number;
  readonly body: VerifyAnswer;
}

/**
 * An application with its own sign-in, as identity mode `external` expects it: `/sign-in?as=…` begins its session; `/verify` reports the
 * signed-in user over the API and redirects the browser as the gateway demands.
 */
export interface ExternalApplication extends AsyncDisposable {
  readonly origin: string;
  readonly verifyUrl: string;
  readonly verifications: readonly Verification[];
  /** Connects the application to the gateway of this world, as the application of this MCP server. */
  connect(world: World, mcpServerId: string): void;
  /** Sends the verification request of the application, for any subject. */
  verify(p: VerifiedUser): Promise<Verification>;
}

export async function startExternalApplication(): Promise<ExternalApplication> {
  const sessions = new Map<string, string>();
  const verifications: Verification[] = [];
  let gateway: { readonly address: string; readonly apiKey: string; readonly issuer: string } | undefined;

  async function verify({ authTime = Math.floor(Date.now() / 1000), ...p }: VerifiedUser): Promise<Verification> {
    if (gateway === undefined) throw new Error('the application is not connected to a gateway');
    const answer = await fetch(`${gateway.address}/v1/elicitations/${p.elicitationId}/verify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        verificationId: p.verificationId,
        subject: { issuer: gateway.issuer, subject: p.subject },
        authTime,
      }),
    });
    const verification = { ...p, status: answer.status, body: (await answer.json()) as VerifyAnswer };
    verifications.push(verification);
    return verification;
  }

  const httpServer = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const cookie = /(?:^|; )application_session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1];
    const subject = cookie === undefined ? undefined : sessions.get(cookie);
    if (url.pathname === '/sign-in') {
      const id = randomBytes(16).toString('base64url');
      sessions.set(id, url.searchParams.get('as') ?? '');
      response
        .writeHead(200, {
          'set-cookie': `application_session=${id}; Path=/; HttpOnly; SameSite=Lax`,
          'content-type': 'text/html',
        })
        .end('<!doctype html><html lang="en"><title>Application</title><h1>Signed in</h1>');
      return;
    }
    if (url.pathname !== '/verify' || subject === undefined) {
      response.writeHead(subject === undefined ? 401 : 404).end();
      return;
    }
    verify({
      subject,
      elicitationId: url.searchParams.get('elicitationId') ?? '',
      verificationId: url.searchParams.get('verificationId') ?? '',
    }).then(
      ({ body }) => {
        if (body.continueUrl === undefined)
          response.writeHead(403, { 'content-type': 'text/html' }).end('<!doctype html><title>No</title><h1>No</h1>');
        else response.writeHead(303, { location: body.continueUrl }).end();
      },
      () => response.writeHead(502).end(),
    );
  }).listen(0, '127.0.0.1');
  await once(httpServer, 'listening');
  const origin = `http://localhost:${(httpServer.address() as AddressInfo).port}`;

  return {
    origin,
    verifyUrl: `${origin}/verify`,
    verifications,
    connect({ gateways, identityProvider }, mcpServerId) {
      gateway = {
        address: gateways[0]?.address ?? '',
        apiKey: keyOf(mcpServerId),
        issuer: identityProvider.issuer,
      };
    },
    verify,
    async [Symbol.asyncDispose]() {
      httpServer.closeAllConnections();
      httpServer.close();
      await once(httpServer, 'close');
    },
  };
}
