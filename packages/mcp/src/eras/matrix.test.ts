import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type RequestedSchema, requestedSchemaSchema } from '@postern/api';
import { describe, expect, test } from 'vitest';
import type { ContractGateway } from '../testing/contract-gateway.ts';
import { TYPED_SECRET } from '../testing/contract-results.ts';
import { type CallAnswer, legacyWorld, type SdkName } from '../testing/legacy-world.ts';
import { modernWorld, textOf } from '../testing/modern-world.ts';
import { sampleContent } from '../testing/sample-content.ts';
import { type KindScript, kindScripts } from '../testing/scripts.ts';

/** How the MCP server reached the user. */
type Way = 'input_required url' | 'input_required form' | 'push url' | 'push form' | '-32042' | 'plain';

interface Played {
  readonly way: Way;
  /** The text shown with the elicitation. */
  readonly shown: string;
  readonly said: string | undefined;
  readonly gateway: ContractGateway;
}

const both = { form: {}, url: {} };
const kindOf: Readonly<Record<KindScript, string>> = {
  authorize: 'authorization',
  pay: 'payment',
  confirm: 'confirmation',
  credential: 'credential',
  form: 'form',
};
const question: Readonly<Record<KindScript, string>> = {
  authorize: 'github account',
  pay: '24.90 EUR to Book Shop',
  confirm: 'Delete repository acme/app',
  credential: 'API key of Acme',
  form: 'Release',
};
const accepts: Readonly<Record<KindScript, string>> = {
  authorize: 'accept co-el-1',
  pay: 'accept receipt-of-el-1 none button',
  confirm: 'accept receipt-of-el-1',
  credential: 'accept true',
  form: 'accept typed true by page',
};

async function modern(kind: KindScript, elicitation: Record<string, unknown> | null): Promise<Played> {
  await using world = await modernWorld({ holdMs: 0 });
  const call = { name: 'outcome', args: { title: kind }, elicitation };
  const first = await world.call(call);
  const params = first.result.inputRequests?.['gate']?.params;
  if (params?.mode === 'form') {
    const inputResponses = { gate: { action: 'accept', content: sampleContent(params.requestedSchema) } };
    const retry = await world.call({ ...call, inputResponses, requestState: first.result.requestState });
    return { way: 'input_required form', shown: params.message, said: textOf(retry), gateway: world.gateway };
  }
  world.gateway.end('completed');
  const retry =
    params === undefined
      ? await world.call(call)
      : await world.call({
          ...call,
          inputResponses: { gate: { action: 'accept' } },
          requestState: first.result.requestState,
        });
  expect([first, retry].map(({ frames }) => frames).join()).not.toContain(TYPED_SECRET);
  const way = params === undefined ? 'plain' : 'input_required url';
  return { way, shown: params?.message ?? textOf(first) ?? '', said: textOf(retry), gateway: world.gateway };
}

async function session(
  sdk: SdkName,
  kind: KindScript,
  capabilities: Record<string, object>,
  { attach = true, cancels = false }: { attach?: boolean; cancels?: boolean } = {},
): Promise<Played> {
  await using world = await legacyWorld(sdk, {}, { attach });
  const pushed: { way: Way; shown: string }[] = [];
  const host = await world.connect(sdk, {
    capabilities,
    elicit({ message }) {
      if (cancels) return { action: 'cancel' };
      pushed.push({ way: 'push url', shown: message });
      world.gateway.end('completed');
      return { action: 'accept' };
    },
    fill({ message, requestedSchema }) {
      pushed.push({ way: 'push form', shown: message });
      const schema: RequestedSchema = requestedSchemaSchema.parse(requestedSchema);
      return { action: 'accept', content: sampleContent(schema) };
    },
  });
  const first = await host.call(kind);
  const [push] = pushed;
  if (push !== undefined) return { ...push, said: first.text, gateway: world.gateway };
  world.gateway.end('completed');
  return { ...wayOf(first), said: (await host.call(kind)).text, gateway: world.gateway };
}

function wayOf({ error, text }: CallAnswer): { way: Way; shown: string } {
  return error === undefined
    ? { way: 'plain', shown: text ?? '' }
    : { way: `${error.code}` as '-32042', shown: JSON.stringify(error.data) };
}

async function stateless(sdk: SdkName, kind: KindScript): Promise<Played> {
  if (sdk === 'v1') return await session('v1', kind, { elicitation: both }, { attach: false });
  await using world = await modernWorld();
  await using client = await connectLegacy(world.mcp.url);
  const shown = await client.outcome(kind);
  world.gateway.end('completed');
  return { way: 'plain', shown, said: await client.outcome(kind), gateway: world.gateway };
}

/** A 2025-11-25 client of `createMcpHandler`, which handles it without a session. */
async function connectLegacy(url: URL) {
  const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: both } });
  await client.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: 'Bearer alice' } } }),
  );
  return {
    async outcome(title: string): Promise<string> {
      const { content } = await client.callTool({ name: 'outcome', arguments: { title } });
      return content[0]?.type === 'text' ? content[0].text : '';
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

type Row = readonly [name: string, play: (kind: KindScript) => Promise<Played>, way: Way, formWay: Way];

const sdks = ['v2', 'v1'] as const;
const rows: Row[] = [
  ['2026-07-28 url and form', kind => modern(kind, both), 'input_required url', 'input_required form'],
  ['2026-07-28 url', kind => modern(kind, { url: {} }), 'input_required url', 'input_required url'],
  ['2026-07-28 form', kind => modern(kind, { form: {} }), 'plain', 'input_required form'],
  ['2026-07-28 {}', kind => modern(kind, {}), 'plain', 'input_required form'],
  ['2026-07-28 without', kind => modern(kind, null), 'plain', 'plain'],
  ...sdks.flatMap((sdk): Row[] => [
    [`2025-11-25 session, push, ${sdk}`, kind => session(sdk, kind, { elicitation: both }), 'push url', 'push form'],
    [
      `2025-11-25 session, push, url, ${sdk}`,
      kind => session(sdk, kind, { elicitation: { url: {} } }),
      'push url',
      'push url',
    ],
    [
      `2025-11-25 session, −32042, ${sdk}`,
      kind => session(sdk, kind, { elicitation: both }, { cancels: true }),
      '-32042',
      'push form',
    ],
    [
      `2025-11-25 session, −32042, url, ${sdk}`,
      kind => session(sdk, kind, { elicitation: { url: {} } }, { cancels: true }),
      '-32042',
      '-32042',
    ],
    [
      `2025-11-25 session, form, ${sdk}`,
      kind => session(sdk, kind, { elicitation: { form: {} } }),
      'plain',
      'push form',
    ],
    [`2025-11-25 session, {}, ${sdk}`, kind => session(sdk, kind, { elicitation: {} }), 'plain', 'push form'],
    [`2025-11-25 session without, ${sdk}`, kind => session(sdk, kind, {}), 'plain', 'plain'],
    [`2025-11-25 stateless, ${sdk}`, kind => stateless(sdk, kind), 'plain', 'plain'],
  ]),
];

describe.each(rows)('%s', (_name, play, way, formWay) => {
  test.each(kindScripts)('%s', async kind => {
    const played = await play(kind);
    expect(played.way).toBe(kind === 'form' ? formWay : way);
    expect(played.shown).toContain(question[kind]);
    const isInBand = played.way.endsWith('form');
    expect(played.said).toBe(isInBand ? 'accept typed true by mcp-client' : accepts[kind]);
    expect(played.gateway.elicitations.map(elicitation => elicitation.kind)).toEqual(isInBand ? [] : [kindOf[kind]]);
    const needsRedemption = !isInBand && kind !== 'authorize';
    expect(played.gateway.results.redemptions).toHaveLength(needsRedemption ? 1 : 0);
  });
});
