import { createCookieJar, driveAuthorization } from '@postern/testkit/providers';
import { type RawAnswer, type RawBrowser, unescapeHtml } from './raw-browser.ts';
import type { World } from './world.ts';
import { type Api, askFor } from './world.ts';

export interface ConnectOptions {
  readonly user: string;
  /** Account at the provider. Default `alice`. */
  readonly account?: string;
  readonly scopes?: readonly string[];
  /** Default `forge`. */
  readonly provider?: string;
  /** Id of the requesting MCP server. Default `tracker`. */
  readonly api?: Api;
  /** Default: a new browser. */
  readonly raw?: RawBrowser;
}

export interface Connected {
  readonly connectionId: string;
  readonly elicitationId: string;
  /** Signed in as the person. */
  readonly raw: RawBrowser;
}

/** Issues a request, signs in if necessary, accepts everywhere and returns the connection. @throws if there is none */
export async function connected(world: World, p: ConnectOptions): Promise<Connected> {
  const { user, account = 'alice', provider = 'forge', api = world.api, raw = world.raw() } = p;
  const scopes = [...(p.scopes ?? ['repo'])];
  const issued = await api.issue(askFor(world, user, { authorization: { provider, scopes } }));
  if (issued.status !== 201) throw new Error(`not issued: ${issued.status} ${issued.body.code ?? ''}`);
  const { elicitationId } = issued.body;
  const asked = await raw.get(`/e/${elicitationId}`);
  if (world.file !== undefined || !asked.body.includes('/accept')) await raw.signIn(elicitationId, user);
  await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), account));
  return { connectionId: await connectionIdOf(api, elicitationId), elicitationId, raw };
}

/** @throws if the elicitation did not end with a connection */
export async function connectionIdOf(api: Api, elicitationId: string): Promise<string> {
  const { status, outcome } = (await api.read(elicitationId)).body;
  if (outcome?.connectionId === undefined) throw new Error(`no connection: ${status}`);
  return outcome.connectionId;
}

/** Signs in from `/me` and returns there, with a fresh browser at the identity provider. */
export async function signInForMe(raw: RawBrowser, user: string, href = '/login?to=me'): Promise<RawAnswer> {
  const { location, status } = await raw.get(href);
  if (location === undefined) throw new Error(`sign-in did not start: ${status}`);
  return raw.get(await driveAuthorization(location, user, { jar: createCookieJar() }));
}

/** Links of the entries on `/me`, in page order. */
export function disconnectPathsIn(page: RawAnswer): string[] {
  return [...page.body.matchAll(/href="(\/me\/connections\/[^"]+\/disconnect)"/g)].map(([, href = '']) =>
    unescapeHtml(href),
  );
}

export const disconnectPathOf = (connectionId: string): string => `/me/connections/${connectionId}/disconnect`;

/** The visible text of a page, with single spaces. */
export function textOf(page: RawAnswer): string {
  return unescapeHtml(
    page.body
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/ ([,.:?])/g, '$1'),
  );
}

/** The text of each connected account on the page. */
export function connectionEntriesIn(page: RawAnswer): string[] {
  const [, section = ''] =
    /<section class="group" aria-labelledby="connections-heading">(.*?)<\/section>/s.exec(page.body) ?? [];
  return section
    .split('<li class="entry row-item">')
    .slice(1)
    .map(body => textOf({ ...page, body }));
}
