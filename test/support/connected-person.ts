import type { AccessTokenRequest, ConnectionBody, PlainAccessToken } from '@postern/api';
import { connectAccount } from './person-at-gateway.ts';
import type { RawBrowser } from './raw-browser.ts';
import type { World } from './world.ts';
import { type AuthorizationInput, askFor } from './world.ts';

/** A user with a connected account, as the MCP server `tracker` sees them. */
export interface ConnectedPerson {
  readonly user: string;
  readonly connectionId: string;
  readonly raw: RawBrowser;
  /** @throws if no token is returned */
  token(request?: AccessTokenRequest): Promise<PlainAccessToken>;
  /** Status and code of a response without a token. */
  refusal(
    request?: AccessTokenRequest,
  ): Promise<{ status: number; code: string | undefined; retryAfter: string | null }>;
  /** The entry in the list of connections. */
  listed(): Promise<ConnectionBody | undefined>;
  /** Issues a request that the user must decide, and opens its page. @throws if the existing connection is returned */
  askedAgain(): Promise<{ elicitationId: string; page: string }>;
  /** The user accepts the new request. */
  connectAgain(elicitationId: string): Promise<void>;
}

export async function connectPerson(
  world: World,
  ask: Partial<AuthorizationInput> = {},
  account = 'alice',
): Promise<ConnectedPerson> {
  const user = world.subject();
  const raw = world.raw();
  const { elicitationId: first } = await world.ask(user, ask);
  await connectAccount(raw, first, user, account);
  const connectionId = (await world.api.read(first)).body.outcome?.connectionId;
  if (connectionId === undefined) throw new Error('the person is not connected');

  return {
    user,
    connectionId,
    raw,
    async token(request) {
      const { status, body } = await world.api.accessToken(connectionId, request);
      if (status !== 200) throw new Error(`no token: ${status} ${body.code ?? ''}`);
      return body;
    },
    async refusal(request) {
      const { status, body, headers } = await world.api.accessToken(connectionId, request);
      return { status, code: body.code, retryAfter: headers.get('retry-after') };
    },
    async listed() {
      const { issuer } = world.identityProvider;
      const { body } = await world.api.connections({ issuer, subject: user });
      return body.connections.find(connection => connection.connectionId === connectionId);
    },
    async askedAgain() {
      const issued = await world.api.issue(askFor(world, user, ask));
      if (issued.status !== 201) throw new Error(`no elicitation was issued: ${issued.status} ${issued.body.status}`);
      const { elicitationId } = issued.body;
      return { elicitationId, page: (await raw.get(`/e/${elicitationId}`)).body };
    },
    async connectAgain(elicitationId) {
      await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), account));
      const { status } = (await world.api.read(elicitationId)).body;
      if (status !== 'completed') throw new Error(`not reconnected: ${status}`);
    },
  };
}
