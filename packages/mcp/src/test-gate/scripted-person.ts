import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** Input of a person: values of a credential, or content of a form, by the name of the field. */
export type Typed = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** A person at a browser without an engine, for the pages of a gateway whose only user is the one of this machine. */
export interface TestPerson {
  /**
   * Opens the link, types the values if the page asks for any, accepts, and consents at the provider.
   *
   * @throws if the page refuses, such as a link that is no longer open, or input that does not fit
   */
  accept(url: string, typed?: Typed): Promise<void>;
  /** Opens the link and declines. @throws if the page refuses */
  decline(url: string): Promise<void>;
}

/** @param standIn origin of the stand-in for the providers, the only other place that the person goes to */
export function createTestPerson(gateway: string, standIn: string): TestPerson {
  /** Opens an elicitation, and posts one of the two forms on its page. Each visit is a browser of its own. */
  async function decide(url: string, decision: 'accept' | 'decline', typed: Typed) {
    if (new URL(url).origin !== gateway) throw new Error('The person opens only links of the test gateway.');
    const cookies = new Map<string, string>();
    const visit = (method: 'GET' | 'POST', target: string, form?: URLSearchParams) =>
      send(cookies, gateway, { method, url: new URL(target, gateway), form });
    const page = await visit('GET', url);
    const { action, hidden } = formOf(page, decision);
    const form = new URLSearchParams(hidden);
    for (const [name, value] of Object.entries(typed))
      for (const each of Array.isArray(value) ? value : [value]) form.append(`field.${name}`, String(each));
    const answer = await visit('POST', action, form);
    if (answer.location === undefined) throw refused(answer);
    return { visit, location: answer.location };
  }

  return {
    async accept(url, typed = {}) {
      const { visit, location } = await decide(url, 'accept', typed);
      if (!location.endsWith('/leaving')) return;
      const leaving = await visit('GET', location);
      const provider = unescapeHtml(/<a class="button accent" href="([^"]+)"/.exec(leaving.body)?.[1] ?? '');
      if (URL.parse(provider)?.origin !== standIn) throw refused(leaving);
      const consent = await fetch(provider, { redirect: 'manual' });
      const callback = await visit('GET', consent.headers.get('location') ?? '/');
      if (callback.location === undefined) throw refused(callback);
    },
    async decline(url) {
      await decide(url, 'decline', {});
    },
  };
}

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

interface Visit {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly form: URLSearchParams | undefined;
}

/** With the headers of a browser, which `fetch` would not let through. */
async function send(cookies: Map<string, string>, origin: string, { method, url, form }: Visit): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = {
    accept: 'text/html',
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
    'sec-fetch-site': form === undefined ? 'none' : 'same-origin',
    ...(form === undefined ? {} : { origin, 'content-type': 'application/x-www-form-urlencoded' }),
  };
  const outgoing = httpRequest(url, { method, headers, agent: false }, resolve);
  outgoing.on('error', reject);
  outgoing.end(form?.toString());
  const incoming = await promise;
  for (const line of incoming.headers['set-cookie'] ?? []) {
    const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(line) ?? [];
    cookies.set(name, value);
  }
  return { status: incoming.statusCode ?? 0, location: incoming.headers.location, body: await text(incoming) };
}

/** The form with which the user decides, and its hidden fields. */
function formOf(page: Answer, decision: 'accept' | 'decline') {
  const forms = page.body.split('<form method="post" action="').slice(1);
  const form = forms.find(each => each.split('"', 1)[0]?.endsWith(`/${decision}`));
  if (form === undefined) throw refused(page);
  const [inner = ''] = form.split('</form>', 1);
  const fields = [...inner.matchAll(/name="([^"]+)" value="([^"]*)"/g)];
  return {
    action: unescapeHtml(form.slice(0, form.indexOf('"'))),
    hidden: fields.map(([, name = '', value = '']): [string, string] => [name, unescapeHtml(value)]),
  };
}

function refused({ status, body }: Answer): Error {
  const title = /<h1[^>]*>(.*?)<\/h1>/s
    .exec(body)?.[1]
    ?.replaceAll(/<[^<>]*>/g, '')
    .trim();
  return new Error(`The gateway's page does not allow this (HTTP ${status}): ${unescapeHtml(title ?? 'no title')}`);
}

/** Pages of the gateway contain decimal references only. */
const unescapeHtml = (html: string): string =>
  html.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code))).replaceAll('&amp;', '&');
