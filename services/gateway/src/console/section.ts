import { type Clock, NotFoundError } from '@postern/elicitation';
import { attributes, type Html, html, ownPath, ownText } from '@postern/pages/html';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Actor, ReasonedActor } from '../admin/admin-audit.ts';
import type { AdminService } from '../admin/admin-service.ts';
import type { Page } from '../admin/shard-lists.ts';
import { PageError } from '../pages/page-request.ts';
import { type ConsoleGuard, csrfField, reasonField } from './console-guard.ts';
import { consolePage, type Live, type SectionPath, type SignedInPage, signInHref } from './pages/layout.ts';
import { buttonTo, type Column, link, type Shown, table } from './pages/parts.ts';
import type { Role } from './roles.ts';

/** What the pages of the console are made of. */
export interface ConsoleParts {
  readonly app: FastifyInstance;
  readonly admin: AdminService;
  readonly guard: ConsoleGuard;
  readonly pageFor: (request: FastifyRequest) => SignedInPage;
  readonly configured: Configured;
  readonly now: Clock;
}

/** Names of what the configuration has. */
export interface Configured {
  readonly mcpServers: readonly string[];
  readonly providers: readonly string[];
  readonly issuers: readonly string[];
}

/** Registers the routes of a page. A section of the console is a list of them. */
export type ConsoleRoute = (parts: ConsoleParts) => void;

/** Who asks the admin service. */
export interface Asking<By extends Actor = Actor> {
  readonly admin: AdminService;
  readonly actor: By;
  readonly now: Clock;
}

/** What a verb of the admin service returns if there is such a thing. */
export type Returned<Verb extends keyof AdminService> = NonNullable<Awaited<ReturnType<AdminService[Verb]>>>;

/** Rows of a page of a list. */
export const PAGE = 50;

/** Options of a route that this role may use, and those above it. */
export const forRole = <Least extends Role>(consoleRole: Least) => ({ config: { consoleRole } });

/** A field of a filter. An empty one counts as no filter. */
export const unlessEmpty = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.literal('').transform(() => undefined), schema]).optional();
/** Of a query. */
export const field = {
  name: unlessEmpty(z.string().max(80)),
  date: unlessEmpty(z.iso.date()),
  cursor: z.string().max(200).optional(),
};

export const dateOf = (day: string | undefined) => (day === undefined ? undefined : new Date(`${day}T00:00:00Z`));

/** @throws PageError for a query that no link of the console has */
export function queryOf<Query>(request: FastifyRequest, schema: z.ZodType<Query>): Query {
  const query = schema.safeParse(request.query);
  if (!query.success) throw new PageError('bad_request');
  return query.data;
}

type ListQuery = Readonly<Record<string, string | undefined>>;

/** A field of the form above a list. */
export interface Filter<Query> {
  readonly name: keyof Query & string;
  readonly label: string;
  /** Of a field that is typed. */
  readonly type?: 'text' | 'date';
  /** Of a field that is chosen: the text of the choice that filters nothing. */
  readonly any?: string;
  readonly choices?: (query: Query, configured: Configured) => readonly (string | { value: string; text: string })[];
}

export const filter = {
  mcpServer: {
    name: 'mcpServer',
    label: 'MCP server',
    any: 'any MCP server',
    choices: (_, { mcpServers }) => mcpServers,
  } satisfies Filter<{ mcpServer?: string }>,
  provider: {
    name: 'provider',
    label: 'Provider',
    any: 'any provider',
    choices: (_, { providers }) => providers,
  } satisfies Filter<{ provider?: string }>,
};

/** A list of the console: what it asks the admin service for, and what it shows of each item. */
export interface List<Query extends ListQuery, Item> {
  readonly at: SectionPath;
  /** Of the permanent link of a page. */
  readonly query: z.ZodType<Query>;
  readonly filters?: readonly Filter<Query>[];
  /** The filters are a POST, whose route checks typed text before it gets into a URL. */
  readonly filtersByPost?: boolean;
  readonly about?: Html;
  read(asking: Asking, query: Query): Promise<Page<Item>>;
  readonly caption: string;
  columns(query: Query): readonly Column<Item>[];
  /** What an operator can do with an item. */
  readonly acts?: (item: Item) => Shown | undefined;
  /** What an operator can do with all that match. */
  readonly actsOnAll?: (query: Query) => Html;
  /** Shown instead of a table without rows. */
  empty(isLastPage: boolean): string;
}

/** Of a list with filters. @param nothing such as `No line` */
export const noMatch = (nothing: string) => (isLastPage: boolean) =>
  isLastPage ? `${nothing} matches.` : `${nothing} on this page matches. There are more pages.`;

/** @param notice why a form was refused */
export function listPage<Query extends ListQuery, Item>(
  page: SignedInPage,
  of: List<Query, Item>,
  configured: Configured,
  { query, items, next, notice }: Page<Item> & { readonly query: Query; readonly notice?: string },
): string {
  const isOperator = page.role === 'operator';
  const acts = isOperator && of.acts !== undefined ? [{ name: 'Act', cell: of.acts }] : [];
  return consolePage(page, {
    at: of.at,
    main: html`${notice === undefined ? undefined : html`<p class="warning" role="alert">${notice}</p>`}${of.about}${filterForm(page, of, query, configured)}
${isOperator && (items.length > 0 || next !== undefined) ? of.actsOnAll?.(query) : undefined}
${table({ caption: of.caption, columns: [...of.columns(query), ...acts], items, empty: of.empty(next === undefined) })}
${pager(of.at, query, next)}`,
  });
}

/** Repeats the page with its fields in the query, so that the result has a permanent link. */
function filterForm<Query extends ListQuery>(
  { csrfToken }: SignedInPage,
  { at, filters, filtersByPost = false }: Pick<List<Query, never>, 'at' | 'filters' | 'filtersByPost'>,
  query: Query,
  configured: Configured,
): Html | undefined {
  const controls = filters?.map(({ name, label, type = 'text', any, choices }) => {
    const value = query[name] ?? '';
    const none = any === undefined ? [] : [{ value: '', text: any }];
    const options = choices && [...none, ...choices(query, configured)].map(of => optionOf(of, value));
    const control =
      options === undefined
        ? html`<input type="${type}" name="${name}" value="${value}">`
        : html`<select name="${name}">${options}</select>`;
    return html`<label><span>${label}</span>${control}</label>`;
  });
  const token = filtersByPost ? html`<input type="hidden" name="csrf_token" value="${csrfToken}">` : undefined;
  return (
    controls &&
    html`<form class="filters" method="${filtersByPost ? 'post' : 'get'}" action="${ownPath(at)}" role="search" aria-label="Filters">${token}${controls}<button>Filter</button></form>`
  );
}

function optionOf(choice: string | { readonly value: string; readonly text: string }, chosen: string): Html {
  const { value, text } = typeof choice === 'string' ? { value: choice, text: choice } : choice;
  return html`<option value="${value}"${attributes({ selected: value === chosen })}>${text}</option>`;
}

/** Links between the pages of a list. */
function pager(path: string, query: ListQuery, next: string | undefined): Html | undefined {
  const { cursor, ...first } = query;
  const links = [
    ...(cursor === undefined ? [] : [link(path, html`First page`, first)]),
    ...(next === undefined ? [] : [link(path, html`Next page`, { ...query, cursor: next })]),
  ];
  return links.length === 0 ? undefined : html`<nav class="pager" aria-label="Pages">${links}</nav>`;
}

/** The page of a list, for every operator. */
export const list =
  <Query extends ListQuery, Item>(of: List<Query, Item>): ConsoleRoute =>
  ({ app, admin, guard, pageFor, configured, now }) => {
    app.get(of.at, forRole('viewer'), async (request, reply) => {
      const query = queryOf(request, of.query);
      const { actor } = guard.visitOf(request);
      const found = await of.read({ admin, actor, now }, query);
      return reply.send(listPage(pageFor(request), of, configured, { query, ...found }));
    });
  };

/** The page of one record. */
export interface Details<Values, Item> {
  /** Pattern of its route. */
  readonly path: string;
  readonly at: SectionPath;
  /** Of the parameters of the path. */
  readonly values: z.ZodType<Values>;
  /** It shows the data of one person, and looking at it is recorded. */
  readonly showsPerson?: boolean;
  /** Undefined if there is no such record. */
  read(asking: Asking, values: Values): Promise<Item | undefined>;
  title(item: Item): string;
  readonly live?: (item: Item) => Live;
  main(item: Item, page: SignedInPage): Html;
}

export const details =
  <Values, Item>(of: Details<Values, Item>): ConsoleRoute =>
  ({ app, admin, guard, pageFor, now }) => {
    const { at, showsPerson = false } = of;
    // A `HEAD` shows nothing, and would be recorded as a look.
    const options = showsPerson ? { ...forRole('support'), exposeHeadRoute: false } : forRole('viewer');
    app.get(of.path, options, async (request: FastifyRequest, reply: FastifyReply) => {
      const { actor } = showsPerson ? guard.visitToPerson(request) : guard.visitOf(request);
      const item = await of.read({ admin, actor, now }, of.values.parse(request.params));
      if (item === undefined) throw new NotFoundError();
      const page = pageFor(request);
      return reply.send(
        consolePage(page, { at, title: of.title(item), live: of.live?.(item), main: of.main(item, page) }),
      );
    });
  };

/** What an act would do now. */
export interface Plan {
  /** What it is about. */
  readonly about?: Html;
  /** What it will do, and to how many. A string: why there is nothing to do. */
  readonly says: Html | string;
  /** Names the act. Absent if there is nothing to do now. */
  readonly button?: string;
  /** Fields of the confirming form that follow from what the page says. */
  readonly confirms?: Readonly<Record<string, string>>;
}

/** What an operator may do. Each act has a page that says what it will do, and to how many. */
export interface Act<Values> {
  /** Pattern of its route. */
  readonly path: string;
  readonly at: SectionPath;
  readonly title: string;
  /** Of the parameters of the path together with the query, or with the form. */
  readonly values: z.ZodType<Values>;
  /**
   * The values name a person, so they are never in a URL: the page is the answer to a POST, and confirming it is a POST to the path below.
   */
  readonly namesPerson?: boolean;
  /** Changes nothing. Undefined if there is no such thing. */
  plan(asking: Asking, values: Values): Promise<Plan | undefined>;
  /**
   * Records the act, then does it.
   * @returns the path of the page that shows the result; a plan that says why nothing was done; undefined if there is no such thing
   */
  perform(asking: Asking<ReasonedActor>, values: Values): Promise<string | Plan | undefined>;
}

type Fields = Readonly<Record<string, string>>;
const fields = z.record(z.string(), z.string().max(2000));
const plannedForm = z.object({ csrf_token: csrfField }).catchall(z.string().max(2000));
const confirmedForm = z.object({ csrf_token: csrfField, reason: reasonField }).catchall(z.string().max(2000));

/** The confirming POST of an act about a person. */
const CONFIRMED = '/confirmed';

/**
 * An act of the role `operator`. Only a POST from a page of this browser session, by an operator who signed in within the last minutes and
 * gives a reason, performs it.
 */
export const act =
  <Values>(of: Act<Values>): ConsoleRoute =>
  ({ app, admin, guard, pageFor, now }) => {
    const operator = forRole('operator');
    const { path, namesPerson = false } = of;

    /** @throws PageError for values that no page of the console sends */
    function valuesOf(request: FastifyRequest, given: Fields): Values {
      const found = of.values.safeParse({ ...given, ...fields.parse(request.params ?? {}) });
      if (!found.success) throw new PageError('bad_request');
      return found.data;
    }

    async function show(request: FastifyRequest, reply: FastifyReply, given: Fields, refused?: Plan) {
      const { actor, isFresh } = guard.visitToPerson(request);
      const plan = refused ?? (await of.plan({ admin, actor, now }, valuesOf(request, given)));
      if (plan === undefined) throw new NotFoundError();
      const [here = ''] = request.url.split('?');
      const planned = here.endsWith(CONFIRMED) ? here.slice(0, -CONFIRMED.length) : here;
      return reply.send(
        actPage(pageFor(request), of, plan, {
          isFresh,
          given: { ...given, ...plan.confirms },
          action: namesPerson ? `${planned}${CONFIRMED}` : here,
          // The values of an act about a person cannot be repeated by a link.
          again: namesPerson ? of.at : request.method === 'GET' ? request.url : here,
        }),
      );
    }

    if (namesPerson)
      app.post(path, operator, async (request, reply) => {
        const { csrf_token: _, reason: __, ...given } = await guard.readForm(request, plannedForm);
        return show(request, reply, given);
      });
    else
      app.get(path, { ...operator, exposeHeadRoute: false }, async (request, reply) => {
        const given = fields.safeParse(request.query);
        if (!given.success) throw new PageError('bad_request');
        return show(request, reply, given.data);
      });

    app.post(namesPerson ? `${path}${CONFIRMED}` : path, operator, async (request, reply) => {
      const { csrf_token: _, reason, ...given } = await guard.readForm(request, confirmedForm);
      const { actor, isFresh } = guard.visitOf(request);
      if (!isFresh) return show(request, reply.code(403), given);
      const done = await of.perform({ admin, actor: { ...actor, reason }, now }, valuesOf(request, given));
      if (done === undefined) throw new NotFoundError();
      return typeof done === 'string' ? reply.redirect(done, 303) : show(request, reply.code(409), given, done);
    });
  };

/** Says what an act will do before the operator confirms it. Without a fresh sign-in it offers one instead of the form. */
function actPage(
  page: SignedInPage,
  { at, title }: Pick<Act<never>, 'at' | 'title'>,
  { about, says, button }: Plan,
  p: {
    readonly isFresh: boolean;
    /** Fields that the confirming form repeats. */
    readonly given: Fields;
    readonly action: string;
    /** Where the operator returns after signing in again. */
    readonly again: string;
  },
): string {
  const back = link(at, html`Back`);
  const hidden = Object.entries({ csrf_token: page.csrfToken, ...p.given }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const form =
    button === undefined
      ? html`<p>${back}</p>`
      : p.isFresh
        ? html`<form class="act" method="post" action="${ownPath(p.action)}">${hidden}<label><span>Reason, for the audit trail</span><input type="text" name="reason" required></label><button class="danger">${button}</button> ${back}</form>`
        : html`<p>This needs a sign-in of the last five minutes.</p>${buttonTo(signInHref(p.again, true), 'Sign in again')}`;
  const text = typeof says === 'string' ? html`<p class="empty">${ownText(says)}</p>` : says;
  return consolePage(page, { at, title, main: html`${about}${text}${form}` });
}
