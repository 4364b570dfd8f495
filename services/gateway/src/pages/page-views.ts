import type { LocalizedText, ProviderConfig, ProviderRegistry } from '@postern/authorization';
import {
  type Amount,
  askDigest,
  type BrowserSession,
  type Clock,
  type Connection,
  type Credential,
  type Elicitation,
  type ElicitationOf,
  isTerminal,
  type Kind,
} from '@postern/elicitation';
import {
  type AmountView,
  type AnsweredAbout,
  type ConnectedAccountView,
  chooseLocale,
  displayHost,
  type ForeignText,
  type LastUseView,
  type Locale,
  languagePath,
  loadLanguage,
  locales,
  type McpServerView,
  type PageContext,
  type PersonView,
  type ProviderView,
  type ScopeView,
  scopeText,
  type TextIn,
  type WaitingAbout,
  type WayBackView,
} from '@postern/pages';
import { decimalsOf } from '@postern/payment';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { mayAsk, mayRead, mayUse, payeeOf, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import type { Browser } from './browser-cookies.ts';
import { type Look, logoView, mcpServerViewOf } from './looks.ts';
import { assertSameOrigin, PageError, readFormBody } from './page-request.ts';

/** A page that is opened again later does not leave by itself. */
const JUST_ENDED_MS = 60_000;

/** Converts records and configuration to the views of pages. */
export function createPageViews(p: {
  /** The appearance of the pages of an MCP server, or of all others. */
  lookOf: (mcpServerId: string | undefined, locale: Locale) => Look;
  config: Pick<GatewayConfig, 'branding' | 'providers' | 'identityProviders' | 'images' | 'pages'>;
  viewChoices: (request: FastifyRequest) => ViewChoices;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  providers: ProviderRegistry;
  now: Clock;
  passkeysChangedAt: (request: FastifyRequest) => Date | undefined;
  /** Id of the failed request that only the operator can fix, if the page must show it. */
  operatorReference: (request: FastifyRequest) => string | undefined;
}) {
  const providers = new Map(p.config.providers.map(provider => [provider.name, provider]));
  const askedLocales = new WeakMap<FastifyRequest, string>();

  /** MCP servers whose appearance the responses to these requests have. */
  const shownFor = new WeakMap<FastifyRequest, string>();
  const mcpServerView = ({ config }: RegisteredMcpServer) => mcpServerViewOf(config, p.config.images);

  const localeOf = (request: FastifyRequest): Locale =>
    chooseLocale({
      chosen: p.viewChoices(request).language,
      asked: askedLocales.get(request),
      acceptLanguage: request.headers['accept-language'],
      fallback: p.config.pages.defaultLanguage,
    });

  /** Loads the language of the next page in response to this request. */
  async function prepare(request: FastifyRequest): Promise<void> {
    await loadLanguage(localeOf(request));
  }

  return {
    now: p.now,
    prepare,

    /** Gives the page the appearance of the MCP server. Only for the person of the elicitation: others must not learn who asks. */
    showAs(request: FastifyRequest, { mcpServerId }: Elicitation): void {
      shownFor.set(request, mcpServerId);
    },

    context(request: FastifyRequest): PageContext {
      const operatorReference = p.operatorReference(request);
      const passkeysChangedAt = p.passkeysChangedAt(request);
      const { timeZone } = p.viewChoices(request);
      const locale = localeOf(request);
      return {
        locale,
        path: pagePathOf(request),
        ...p.lookOf(shownFor.get(request), locale),
        operatorReference,
        passkeysChangedAt,
        timeZone,
      };
    },

    /** Uses the language of an elicitation for this response. Only after the same-person check: others learn nothing of it. */
    async speakTo(request: FastifyRequest, { locale }: Pick<Elicitation, 'locale'>): Promise<void> {
      if (locale === undefined) return;
      askedLocales.set(request, locale);
      await prepare(request);
    },

    /**
     * Whether the registration of the MCP server still allows this request, in the identity mode it was issued with. A permission that
     * the operator withdraws ends for links already sent, and an elicitation issued in loopback mode never becomes public.
     */
    isStillAllowed({ mcpServerId, identityMode, request, subject }: Elicitation): boolean {
      const mcpServer = p.mcpServers.get(mcpServerId);
      return (
        mcpServer?.identityMode === identityMode &&
        mcpServer.issuers.includes(subject.issuer) &&
        mayAsk(mcpServer, request) &&
        (request.kind !== 'authorization' || providers.has(request.provider))
      );
    },

    /**
     * The return URL of the last page, if it is still registered. Soon after the end, the browser goes there by itself, unless the
     * user stays.
     */
    wayBack(elicitation: Elicitation, { query }: FastifyRequest): WayBackView {
      const { elicitationId, mcpServerId, returnUrl, requestedBy } = elicitation;
      const registered = p.mcpServers.get(mcpServerId)?.returnUrls.find(url => url === returnUrl);
      const returnHref = registered === undefined ? undefined : new URL(registered).href;
      const isStaying = typeof query === 'object' && query !== null && 'stay' in query;
      const hasJustEnded = isTerminal(elicitation) && p.now() < elicitation.endedAt + JUST_ENDED_MS;
      const stayHref =
        returnHref !== undefined && hasJustEnded && !isStaying ? `${elicitationPath(elicitationId)}?stay` : undefined;
      return { returnHref, stayHref, mcpClient: requestedBy?.mcpClient };
    },

    /** Starts another sign-in for this elicitation. */
    signInHref: ({ elicitationId }: Elicitation): string => `/login?${new URLSearchParams({ e: elicitationId })}`,

    /** Starts a fresh sign-in that is bound to this elicitation; an older sign-in does not count. */
    freshSignInHref: ({ elicitationId }: Elicitation): string =>
      `/login?${new URLSearchParams({ e: elicitationId, fresh: '1' })}`,

    isDevice: ({ request }: ElicitationOf<'authorization'>): boolean =>
      p.providers.get(request.provider)?.flow === 'device',

    /**
     * Computed from the stored request whenever a page shows it. The form post compares it with the digest made at issue: unless the shown,
     * the stored and the issued request are identical, nothing is approved.
     */
    shownDigest: ({ request }: ElicitationOf<Exclude<Kind, 'authorization'>>): string => askDigest(request),

    /** A number that the user can quote; the signed receipt contains it too. */
    receiptNumber: ({ elicitationId }: Elicitation): string => elicitationId,

    /** From the registration, never from the MCP server's own text. */
    mcpServer(elicitation: Elicitation): McpServerView {
      const mcpServer = p.mcpServers.get(elicitation.mcpServerId);
      if (mcpServer === undefined) throw new TypeError('the MCP server is not registered');
      return mcpServerView(mcpServer);
    },

    registeredMcpServer: mcpServerView,

    /** Who names the payee, if the operator has not registered it. Processors take payments for registered payees only. */
    payeeNamedBy({ mcpServerId, request }: Pick<ElicitationOf<'payment'>, 'mcpServerId' | 'request'>) {
      const mcpServer = p.mcpServers.get(mcpServerId);
      if (request.processor !== 'none' || (mcpServer !== undefined && payeeOf(mcpServer, request) !== undefined))
        return {};
      return { payeeNamedBy: { mcpServer: this.mcpServerName(mcpServerId), brand: p.config.branding.name } };
    },

    /** The page on which the signed-in user mutes or reports an MCP server. Without a sign-in there is none. */
    manageHref: ({ mcpServerId, identityMode }: Elicitation): { readonly manageHref?: string } =>
      identityMode === 'loopback' ? {} : { manageHref: mcpServerPath(mcpServerId) },

    /** A connection with the MCP servers that may use it now. */
    connectedAccount(connection: Connection): ConnectedAccountView {
      const { provider, account } = connection;
      return {
        ...this.provider(provider),
        accountName: account?.name ?? account?.id,
        mcpServers: [...p.mcpServers.values()].filter(caller => mayUse(caller, connection)).map(mcpServerView),
      };
    },

    /** The MCP servers that may read a credential now. */
    credentialReaders: (credential: Credential): McpServerView[] =>
      [...p.mcpServers.values()].filter(caller => mayRead(caller, credential)).map(mcpServerView),

    /** The last use of a connection or credential. */
    lastUse({ lastUse }: Pick<Connection, 'lastUse'>): { readonly lastUse?: LastUseView } {
      if (lastUse === undefined) return {};
      const { at, mcpServerId, tool } = lastUse;
      const mcpServerName = this.mcpServerName(mcpServerId);
      return { lastUse: { at: new Date(at), mcpServerName, tool } };
    },

    mcpServerName: (mcpServerId: string): ForeignText => p.mcpServers.get(mcpServerId)?.config.name ?? mcpServerId,

    /** Configured host of the provider; host of the remote MCP server if only that is configured. */
    issuerHost(name: string): string {
      const config = providers.get(name);
      const url = config?.authorizationEndpoint ?? config?.issuer ?? config?.mcpResource;
      if (url === undefined) throw new TypeError('the provider is not configured');
      return displayHost(new URL(url));
    },

    /** Host that the tokens are for: the requested resource, or the remote MCP server. */
    resourceHost(request: { readonly provider: string; readonly resource?: string }): {
      readonly resourceHost?: string;
    } {
      const url = URL.parse(request.resource ?? providers.get(request.provider)?.mcpResource ?? '');
      return url?.protocol === 'https:' || url?.protocol === 'http:' ? { resourceHost: displayHost(url) } : {};
    },

    person(session: BrowserSession): PersonView {
      const { origin } = session;
      const identityProvider =
        'identityProvider' in origin
          ? p.config.identityProviders.find(candidate => candidate.name === origin.identityProvider)
          : undefined;
      return {
        displayName: session.displayName,
        detail: session.detail,
        signInHost: identityProvider && displayHost(new URL(identityProvider.issuer)),
      };
    },

    providerName: (name: string): string => providers.get(name)?.displayName ?? name,

    /** A provider with its mark; by its name only, if it is no longer configured. */
    provider(name: string): ProviderView {
      const config = providers.get(name);
      return {
        providerName: config?.displayName ?? name,
        providerMark: config?.mark,
        ...(config?.logo !== undefined && { providerLogo: logoView(config.logo, p.config.images) }),
      };
    },

    scopes: createScopeViews(p.config.providers, p.providers),
  };
}

export const mcpServerPath = (mcpServerId: string): string => `/me/mcp-servers/${mcpServerId}`;

export type PageViews = ReturnType<typeof createPageViews>;

/** What page routes use: their own dependencies, the cookies of the browser, and the views. */
export interface PageKit<Deps> {
  readonly deps: Deps;
  readonly browser: Browser;
  readonly views: PageViews;
}

/** Returns a function that describes scopes of a provider: the operator's text before that of the preset. @internal */
export function createScopeViews(
  configs: readonly Pick<ProviderConfig, 'name' | 'preset'>[],
  providers: ProviderRegistry,
) {
  const presets = new Map(configs.map(({ name, preset }) => [name, preset]));

  return (provider: string, scopes: readonly string[], locale: Locale): ScopeView[] => {
    const descriptions = new Map(Object.entries(providers.get(provider)?.scopeDescriptions ?? {}));
    return scopes.map(scope => {
      const { text, access } = descriptions.get(scope) ?? {};
      const found = text === undefined ? scopeText(presets.get(provider), scope, locale) : localized(text, locale);
      const language = found?.language === locale ? undefined : found?.language;
      return { scope, description: found?.text, language, access };
    });
  };
}

/** A single text serves all locales, and its language is unknown. */
function localized(text: LocalizedText, locale: Locale): Partial<TextIn> {
  if (typeof text === 'string') return { text };
  const own = text[locale];
  return own === undefined ? { text: text['en'], language: 'en' } : { text: own, language: locale };
}

/** The choices of a browser for its pages. Not secret, and anyone can send any value. */
export interface ViewChoices {
  readonly language?: Locale;
  /** IANA name. */
  readonly timeZone?: string;
}

const MAX_AGE_SECONDS = 365 * 24 * 3600;
const TIME_ZONE = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
/** On our own origin: exactly one leading slash, no backslash, nothing that browsers ignore. */
const OWN_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,2047}$/;
/** Of a language, and a path whose characters may each be escaped as three. */
const LANGUAGE_FORM_LIMITS = { controls: 2, bytes: 6_400 };
const languageFormSchema = z.strictObject({ language: z.enum(locales), back: z.string().regex(OWN_PATH) });

/**
 * The cookie with the language that the reader chose and the time zone of the browser: `lang=<tag>&tz=<name, percent-encoded>`,
 * either part optional. Scripts can read it, because the page script writes the time zone.
 */
export function createViewChoices({ publicUrl }: { readonly publicUrl: string }) {
  const secure = publicUrl.startsWith('https:');
  const name = secure ? '__Host-postern_view' : 'postern_view';

  function read(request: FastifyRequest): ViewChoices {
    // Null while the request has not reached the cookie parser, as when it is refused early.
    const cookies: FastifyRequest['cookies'] | null = request.cookies;
    const parts = new Map((cookies?.[name] ?? '').split('&', 4).map(partOf));
    const language = locales.find(locale => locale === parts.get('lang'));
    const timeZone = timeZoneOf(parts.get('tz'));
    return { ...(language !== undefined && { language }), ...(timeZone !== undefined && { timeZone }) };
  }

  return {
    read,

    /**
     * Registers the form of the language switcher. It needs no CSRF token, which would need a secret cookie on every page: only our
     * own pages may post it, and it changes nothing but this cookie.
     */
    register(app: FastifyInstance): void {
      app.post(languagePath, async (request, reply) => {
        assertSameOrigin(request, publicUrl);
        const form = languageFormSchema.safeParse(await readFormBody(request, LANGUAGE_FORM_LIMITS));
        if (!form.success) throw new PageError('bad_request');
        const { timeZone } = read(request);
        const zone = timeZone === undefined ? '' : `&tz=${encodeURIComponent(timeZone)}`;
        reply.setCookie(name, `lang=${form.data.language}${zone}`, {
          path: '/',
          sameSite: 'lax',
          secure,
          maxAge: MAX_AGE_SECONDS,
          encode: value => value,
        });
        return reply.redirect(form.data.back, 303);
      });
    },
  };
}

/** The page of a GET request, or the page above the form that was posted. Without its query, whose values no page repeats (S35). @internal */
export function pagePathOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1);
  return OWN_PATH.test(path) ? path : '/me';
}

function partOf(part: string): [name: string, value: string] {
  const at = part.indexOf('=');
  return at === -1 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
}

/** Returns a time zone that `Intl` knows. The cookie parser may or may not have decoded it. */
function timeZoneOf(written: string | undefined): string | undefined {
  const name = written?.replaceAll(/%2F/gi, '/').replaceAll(/%2B/gi, '+');
  if (name === undefined || !TIME_ZONE.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** @throws TypeError for an unknown currency, which the API never accepts */
export function amountView({ currency, minorUnits }: Amount): AmountView {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) throw new TypeError('a currency without a minor unit');
  return { currency, minorUnits, decimals };
}

/** What an open elicitation asks for, as `/me` shows it. */
export function waitingAbout({ request }: Elicitation, views: Pick<PageViews, 'providerName'>): WaitingAbout {
  switch (request.kind) {
    case 'authorization':
      return {
        kind: request.kind,
        providerName: views.providerName(request.provider),
        ...(request.scopes.length === 0 ? {} : { permissions: request.scopes.length }),
      };
    case 'payment':
      return paymentAbout(request);
    case 'confirmation':
      return { kind: request.kind, title: request.terms.title };
    case 'credential':
      return { kind: request.kind, title: request.title };
    case 'form':
      return { kind: request.kind, title: request.title };
  }
}

/** What an ended elicitation was about, as the history shows it. */
export function answeredAbout(elicitation: Elicitation, views: Pick<PageViews, 'providerName'>): AnsweredAbout {
  const about = waitingAbout(elicitation, views);
  return about.kind === 'authorization' ? { kind: about.kind, providerName: about.providerName } : about;
}

function paymentAbout({ terms }: Extract<Elicitation['request'], { kind: 'payment' }>) {
  return { kind: 'payment', amount: amountView(terms.amount), payeeName: terms.payee.name } as const;
}
