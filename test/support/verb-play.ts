import { z } from 'zod';
import { movingSessions } from './gated-endpoint.ts';
import { elicitationIdOf } from './person-at-gateway.ts';
import type { VerbEndpoint, VerbEndpointOptions } from './verb-endpoint.ts';
import {
  connectVerbHost,
  type DeclaredModes,
  type ElicitationAction,
  type Filled,
  type VerbAnswer,
  type VerbHost,
} from './verb-host.ts';
import type { VerbArgs, VerbTool } from './verb-tools.ts';

/** How an MCP client connects, and its declared capabilities. */
export interface Way {
  readonly name: string;
  readonly sdk: 'v2' | 'v1';
  readonly revision: '2026-07-28' | '2025-11-25';
  readonly elicitation: DeclaredModes | undefined;
  readonly endpoint: VerbEndpointOptions;
  /** How it presents an elicitation with a page. */
  readonly url: 'elicitation/create' | '-32042' | 'plain';
  /** Whether the MCP client shows a form without secrets. */
  readonly showsForms: boolean;
  /** Whether the MCP client is notified when the page is completed. */
  readonly hearsOfEnd: boolean;
}

const both = { form: {}, url: {} };
const modern = { sdk: 'v2', revision: '2026-07-28', endpoint: {}, hearsOfEnd: false } as const;

const legacy = (sdk: 'v2' | 'v1'): Way[] => {
  const session = { sdk, revision: '2025-11-25', elicitation: both, endpoint: { sdk } } as const;
  const stateless = { sdk, legacy: 'stateless', postern: { assumeUrlCapability: true } } as const;
  return [
    {
      ...session,
      name: `2025-11-25 session, push, ${sdk}`,
      url: 'elicitation/create',
      showsForms: true,
      hearsOfEnd: true,
    },
    {
      ...session,
      name: `2025-11-25 session, −32042, ${sdk}`,
      endpoint: { sdk, postern: { sessions: movingSessions } },
      url: '-32042',
      showsForms: true,
      hearsOfEnd: true,
    },
    {
      ...session,
      name: `2025-11-25 stateless, −32042, ${sdk}`,
      endpoint: stateless,
      url: '-32042',
      showsForms: false,
      hearsOfEnd: false,
    },
    {
      ...session,
      name: `2025-11-25 session, no capability, ${sdk}`,
      elicitation: undefined,
      url: 'plain',
      showsForms: false,
      hearsOfEnd: false,
    },
  ];
};

export const ways: readonly Way[] = [
  { ...modern, name: '2026-07-28 url and form', elicitation: both, url: 'elicitation/create', showsForms: true },
  { ...modern, name: '2026-07-28 form only', elicitation: { form: {} }, url: 'plain', showsForms: true },
  { ...modern, name: '2026-07-28 no capability', elicitation: undefined, url: 'plain', showsForms: false },
  ...legacy('v2'),
  ...legacy('v1'),
];

/** @throws if there is none */
export function wayNamed(name: string): Way {
  const found = ways.find(way => way.name === name);
  if (found === undefined) throw new Error(`no such way: ${name}`);
  return found;
}

/** How one elicitation reached the user. */
export type Reached =
  | { readonly by: Way['url']; readonly elicitationId: string }
  | { readonly by: 'form'; readonly requestedSchema: unknown };

/** The user's actions during a call. */
export interface Acting {
  /** Called once per page, while the MCP client waits if it does. */
  readonly atPage: (elicitationId: string) => Promise<void>;
  /** Response of the MCP client before that. Default `accept`. */
  readonly opens?: ElicitationAction;
  readonly fillForm?: () => Filled;
}

export interface Played {
  /** Final text of the tool. */
  readonly text: string | undefined;
  readonly reached: readonly Reached[];
}

/** Ids of the presented pages in order, including repeats. */
export function elicitationIdsOf({ reached }: Played): string[] {
  return reached.flatMap(one => ('elicitationId' in one ? [one.elicitationId] : []));
}

/** An MCP client and its user, who play complete calls: present, act, and call again until there is a result. */
export interface VerbPlayer extends AsyncDisposable {
  readonly host: VerbHost;
  /** Plays calls one by one. @throws if an elicitation arrives in another way than this player's */
  play(tool: VerbTool, args: VerbArgs, acting: Acting): Promise<Played>;
}

/** More elicitations than any call of these tests needs. */
const MAX_CALLS = 10;

/** Response to form mode, as `deliverySchema` requires. */
export const filledDelivery: Filled = { action: 'accept', content: { name: 'Alice', parcels: 2, size: 'large' } };

export async function startVerbPlayer(p: {
  readonly way: Way;
  readonly subject: string;
  readonly endpoint: Pick<VerbEndpoint, 'url' | 'untilHolding'>;
  readonly fetch?: typeof fetch;
}): Promise<VerbPlayer> {
  const { way, subject, endpoint } = p;
  let current:
    | { acting: Acting; reached: Reached[]; done: Promise<void>[]; fail: (error: unknown) => void }
    | undefined;

  function now() {
    if (current === undefined) throw new Error('no call is in progress');
    return current;
  }
  const host = await connectVerbHost(endpoint.url, {
    sdk: way.sdk,
    revision: way.revision,
    subject,
    elicitation: way.elicitation,
    fetch: p.fetch,
    openUrl(url) {
      const { acting, reached, done, fail } = now();
      const elicitationId = elicitationIdOf(url);
      reached.push({ by: 'elicitation/create', elicitationId });
      const { opens = 'accept' } = acting;
      if (opens === 'accept') {
        const acted = endpoint.untilHolding(elicitationId).then(() => acting.atPage(elicitationId));
        acted.catch(fail);
        done.push(acted);
      }
      return opens;
    },
    fillForm(requestedSchema) {
      const { acting, reached } = now();
      reached.push({ by: 'form', requestedSchema });
      return acting.fillForm?.() ?? filledDelivery;
    },
  });

  async function toAnswer(answer: VerbAnswer): Promise<string | undefined> {
    const { acting, reached } = now();
    const page = pageOf(answer);
    if (page === undefined) return answer.text;
    reached.push(page);
    await acting.atPage(page.elicitationId);
    if (way.hearsOfEnd) await host.untilCompleted(page.elicitationId);
    return undefined;
  }

  return {
    host,
    async play(tool, args, acting) {
      const { promise: failed, reject: fail } = Promise.withResolvers<never>();
      failed.catch(() => undefined); // The race below throws the error.
      const playing = { acting, reached: [], done: [], fail } as NonNullable<typeof current>;
      current = playing;
      for (let calls = 0; calls < MAX_CALLS; calls += 1) {
        const text = await toAnswer(await Promise.race([host.call(tool, args), failed]));
        await Promise.all(playing.done);
        if (text !== undefined) return { text, reached: playing.reached };
      }
      throw new Error(`too many elicitations: ${JSON.stringify(playing.reached)}`);
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

const urlRequiredSchema = z.strictObject({
  elicitations: z.tuple([
    z.strictObject({ mode: z.literal('url'), elicitationId: z.string(), url: z.string(), message: z.string() }),
  ]),
});

/** @throws for every other error */
function pageOf({ error, link }: VerbAnswer): Extract<Reached, { elicitationId: string }> | undefined {
  if (link !== undefined) return { by: 'plain', elicitationId: elicitationIdOf(link) };
  if (error === undefined) return undefined;
  if (error.code !== -32042) throw new Error(`unexpected error: ${JSON.stringify(error)}`);
  const [{ url, elicitationId }] = urlRequiredSchema.parse(error.data).elicitations;
  if (elicitationId !== elicitationIdOf(url)) throw new Error('the id does not match the page');
  return { by: '-32042', elicitationId };
}
