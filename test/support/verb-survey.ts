import { z } from 'zod';
import { connectVerbHost, type DeclaredModes } from './verb-host.ts';
import { type Way, ways } from './verb-play.ts';
import type { VerbTool } from './verb-tools.ts';
import type { VerbWorld } from './verb-world.ts';

/** One request for input, as sent on the wire. */
export interface WireRequest {
  readonly mode: 'form' | 'url';
  readonly params: Readonly<Record<string, unknown>>;
}

export interface SurveyedCall {
  readonly connection: string;
  readonly declared: DeclaredModes | undefined;
  readonly tool: VerbTool;
  readonly order: string;
  readonly requests: readonly WireRequest[];
  /** Of a plain result. */
  readonly link: string | undefined;
}

const declarations: readonly (DeclaredModes | undefined)[] = [
  { form: {}, url: {} },
  { url: {} },
  { form: {} },
  {},
  undefined,
];

/**
 * The first call of every tool, over every connection that transmits the declared capabilities, with all combinations of them. The MCP
 * client declines every page, and dismisses every form.
 */
export async function surveyFirstCalls(world: VerbWorld, tools: readonly VerbTool[]): Promise<readonly SurveyedCall[]> {
  const calls: SurveyedCall[] = [];
  const connections = ways.filter(way => way.endpoint.legacy !== 'stateless' && way.elicitation?.url !== undefined);
  for (const way of connections)
    for (const declared of declarations) calls.push(...(await callAll(world, way, declared, tools)));
  return calls;
}

async function callAll(
  world: VerbWorld,
  way: Way,
  declared: DeclaredModes | undefined,
  tools: readonly VerbTool[],
): Promise<SurveyedCall[]> {
  const { url } = await world.endpoint(way.endpoint);
  await using host = await connectVerbHost(url, {
    sdk: way.sdk,
    revision: way.revision,
    subject: world.person().user,
    elicitation: declared,
    openUrl: () => 'decline',
    fillForm: () => ({ action: 'cancel' }),
  });
  const calls: SurveyedCall[] = [];
  for (const tool of tools) {
    const order = world.order();
    const before = host.frames.length;
    const { link } = await host.call(tool, { order });
    const requests = host.frames.slice(before).flatMap(requestsIn);
    calls.push({ connection: way.name, declared, tool, order, requests, link });
  }
  return calls;
}

const paramsSchema = z.looseObject({ mode: z.enum(['form', 'url']).optional() });
const frameSchema = z.looseObject({
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z
    .looseObject({ inputRequests: z.record(z.string(), z.object({ params: paramsSchema })).optional() })
    .optional(),
  error: z
    .looseObject({
      code: z.number(),
      data: z.looseObject({ elicitations: z.array(paramsSchema).optional() }).optional(),
    })
    .optional(),
});

/** The three ways to present an elicitation: pushed, in a result, in an error. */
function requestsIn(frame: string): WireRequest[] {
  const { method, params: pushed, result, error } = frameSchema.parse(JSON.parse(frame));
  const asked = [
    ...(method === 'elicitation/create' ? [paramsSchema.parse(pushed)] : []),
    ...Object.values(result?.inputRequests ?? {}).map(request => request.params),
    ...(error?.data?.elicitations ?? []),
  ];
  return asked.map(params => ({ mode: params.mode ?? 'form', params }));
}
