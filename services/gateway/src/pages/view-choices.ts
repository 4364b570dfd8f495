import { type Locale, languagePath, locales } from '@postern/pages';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readFormBody } from './form-body.ts';
import { assertSameOrigin, PageError } from './page-request.ts';

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

/** The page of a GET request, or the page above the form that was posted. Without its query, whose values no page repeats (S35). */
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
