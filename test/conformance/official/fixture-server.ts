import { randomBytes } from 'node:crypto';
import { createRequestStateCodec } from '@modelcontextprotocol/server';
import { elicitationSchema } from '@postern/api';
import { postern } from '@postern/mcp';
import { z } from 'zod';
import { authInfoOf, startMcpEndpoint } from '../../support/mcp-endpoint.ts';
import { connectAccount } from '../../support/person-at-gateway.ts';
import type { World } from '../../support/world.ts';
import { keyOf } from '../../support/world.ts';
import { registerFixtureTools } from './fixture-tools.ts';

/** The MCP server that the official suite is let loose on. */
export interface FixtureServer extends AsyncDisposable {
  /** The endpoint for one scenario, in the name of `subject`. */
  urlFor(subject: string): URL;
  /** Resolves when everybody who was asked so far is done in the browser. @throws when one of them failed */
  untilPeopleAreDone(): Promise<void>;
}

/** Below the suite's limit of 30 s per scenario. */
const HOLD_MS = 15_000;

/**
 * Two things are done for the official suite that its own client does not do. It sends no access token, so the path of the
 * endpoint names the user. And it declares form mode only, so wherever it declares elicitation, URL mode is declared
 * beside it on the way in; the person behind it then opens every URL and connects the account.
 */
export async function startFixtureServer(world: World): Promise<FixtureServer> {
  const { issuer } = world.identityProvider;
  const people: Promise<void>[] = [];

  const gate = postern({
    url: world.gateways[0]?.address ?? world.publicUrl,
    apiKey: keyOf('tracker'),
    holdMs: HOLD_MS,
    async fetch(target, init) {
      const response = await fetch(target, init);
      if (init?.method === 'POST' && response.status === 201) {
        const { elicitationId } = elicitationSchema.parse(await response.clone().json());
        const { subject } = z
          .object({ subject: z.object({ subject: z.string() }) })
          .parse(JSON.parse(String(init.body))).subject;
        people.push(connectAccount(world.raw(), elicitationId, subject));
      }
      return response;
    },
  });
  const codec = createRequestStateCodec<{ round: number }>({ key: randomBytes(32) });

  const endpoint = await startMcpEndpoint({
    authenticate: request => authInfoOf(issuer, (request.url ?? '').split('/').at(-1) ?? ''),
    serverOptions: {
      requestState: {
        verify: async (state, ctx) => (await gate.verifyRequestState(state, ctx)) ?? codec.verify(state, ctx),
      },
    },
    rewrite: declareUrlMode,
    gate,
    offer: mcpServer => registerFixtureTools(mcpServer, gate, codec),
  });
  return {
    urlFor: subject => new URL(`/mcp/${subject}`, endpoint.url),
    untilPeopleAreDone: async () => void (await Promise.all(people)),
    async [Symbol.asyncDispose]() {
      gate.close();
      await endpoint[Symbol.asyncDispose]();
    },
  };
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const declaringSchema = z.looseObject({
  params: z.looseObject({
    _meta: z.looseObject({ [CAPABILITIES]: z.looseObject({ elicitation: z.looseObject({}) }) }),
  }),
});

function declareUrlMode(body: unknown): unknown {
  const declaring = declaringSchema.safeParse(body);
  if (!declaring.success) return body;
  const { params } = declaring.data;
  const capabilities = params._meta[CAPABILITIES];
  const elicitation = { form: {}, ...capabilities.elicitation, url: {} };
  return {
    ...declaring.data,
    params: { ...params, _meta: { ...params._meta, [CAPABILITIES]: { ...capabilities, elicitation } } },
  };
}
