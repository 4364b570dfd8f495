/**
 * HTML that is escaped by construction.
 *
 * An `Html` value can only come from a template literal in this package, and every value in it is escaped for its
 * context. The static text around a value determines the context, once per template. A context that escaping cannot
 * make safe is refused: an unquoted attribute, a tag name, a comment, `style`, an event handler.
 */

import type { PageScript } from './page-script.ts';

class TrustedHtml {
  readonly #markup: string;
  constructor(markup: string) {
    this.#markup = markup;
  }
  toString(): string {
    return this.#markup;
  }
}

class CheckedUrl {
  readonly #href: string;
  constructor(href: string) {
    this.#href = href;
  }
  toString(): string {
    return this.#href;
  }
}

/** Finished markup. Its class is not exported, so only {@link html} creates markup. */
export type Html = TrustedHtml;

export function isHtml(value: unknown): value is Html {
  return value instanceof TrustedHtml;
}

/** A URL for `href`, `src`, `srcset` or `action`, created by {@link ownPath}, {@link webUrl} or {@link contactUrl}. */
export type Url = CheckedUrl;

class CheckedAttributes {
  readonly #markup: string;
  constructor(markup: string) {
    this.#markup = markup;
  }
  toString(): string {
    return this.#markup;
  }
}

/** The attributes of one tag, created by {@link attributes}. */
export type Attributes = CheckedAttributes;

/** Values allowed in templates. A bare string is untrusted: in running text it is escaped and isolated in `<bdi>`. */
export type Interpolation = string | Html | Url | Attributes | readonly Html[] | undefined;

type Place = 'text' | 'plain-text' | 'attribute' | 'url' | 'attributes';

const urlAttributes = new Set(['href', 'src', 'srcset', 'action']);
const plainTextElements = new Set(['title', 'textarea', 'option']);
const refusedElements = new Set(['script', 'style', 'iframe', 'object', 'embed', 'base']);
const refusedAttributes = /^(?:on.*|style|srcdoc|formaction|ping)$/;

const placesByTemplate = new WeakMap<TemplateStringsArray, readonly Place[]>();

/**
 * Tagged template for markup. In running text a string is escaped and wrapped in `<bdi>`, an `Html` value is inserted
 * unchanged, and `undefined` renders nothing. In an attribute a string is escaped. `href`, `src`, `srcset` (one image) and `action` accept
 * only a `Url` as the whole value. The end of an opening tag accepts only the result of {@link attributes}.
 *
 * @throws TypeError if a template or a value breaks these rules, which is a fault of the page, never of the data.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Interpolation[]): Html {
  let places = placesByTemplate.get(strings);
  if (places === undefined) {
    places = findPlaces(strings);
    placesByTemplate.set(strings, places);
  }
  let markup = strings[0] ?? '';
  values.forEach((value, index) => {
    markup += render(value, places[index]) + (strings[index + 1] ?? '');
  });
  return new TrustedHtml(markup);
}

/**
 * Attributes that depend on data, for the end of an opening tag: `<input${attributes({ required })}>`. `true` renders
 * the name without a value; `false` and `undefined` render nothing.
 *
 * @throws TypeError for a name whose value escaping cannot make safe, such as an address.
 */
export function attributes(values: Readonly<Record<string, string | number | boolean | undefined>>): Attributes {
  return new CheckedAttributes(
    Object.entries(values)
      .map(([name, value]) => {
        if (!/^[a-z][a-z-]*$/.test(name) || refusedAttributes.test(name) || urlAttributes.has(name)) {
          throw refused(`the attribute "${name}"`);
        }
        if (value === undefined || value === false) return '';
        return value === true ? ` ${name}` : ` ${name}="${escapeHtml(String(value))}"`;
      })
      .join(''),
  );
}

/** Trusted text: escaped but not isolated, because it has the page's language and direction. */
export function ownText(text: string): Html {
  return new TrustedHtml(escapeHtml(text));
}

/** Concatenates markup. */
export function joinHtml(parts: readonly Html[]): Html {
  return new TrustedHtml(parts.join(''));
}

/** The only kind of script element, because templates refuse scripts. It contains no script and runs when the page is complete. */
export const scriptElement = ({ path }: Pick<PageScript, 'path'>): Html =>
  new TrustedHtml(`<script src="${escapeHtml(String(ownPath(path)))}" defer></script>`);

/** Escapes for text and for double- or single-quoted attributes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, character => `&#${character.charCodeAt(0)};`);
}

/**
 * A path on our own origin, for form actions, images and the stylesheet.
 *
 * @throws TypeError if `path` would leave the origin or contains characters that are invalid in a URL
 */
export function ownPath(path: string): Url {
  if (!isOwnPath(path)) throw new TypeError('not a path on this origin');
  return new CheckedUrl(path);
}

/**
 * Returns a link to an element of the same page.
 *
 * @throws TypeError when `id` is no plain name
 */
export function onPage(id: string): Url {
  if (!/^[A-Za-z][\w.-]*$/.test(id)) throw new TypeError('not a plain element id');
  return new CheckedUrl(`#${id}`);
}

/**
 * Returns a path on our own origin, or an absolute `https:` or `http:` address, for links.
 *
 * @throws TypeError for every other scheme, for embedded user names, and for invalid addresses.
 */
export function webUrl(href: string): Url {
  if (isOwnPath(href)) return new CheckedUrl(href);
  const url = URL.parse(href);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw new TypeError('not a web address');
  if (url.username !== '' || url.password !== '') throw new TypeError('a web address must not carry a user name');
  return new CheckedUrl(url.href);
}

/**
 * Like {@link webUrl}, but also accepts a `mailto:` address.
 *
 * @throws TypeError for everything else
 */
export function contactUrl(href: string): Url {
  const url = URL.parse(href);
  return url?.protocol === 'mailto:' ? new CheckedUrl(url.href) : webUrl(href);
}

/** Exactly one leading slash, and no backslash, white space or control character, which browsers ignore. */
function isOwnPath(path: string): boolean {
  return /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path);
}

function render(value: Interpolation, place: Place | undefined): string {
  switch (place) {
    case 'text':
      if (value === undefined) return '';
      if (value instanceof TrustedHtml) return value.toString();
      if (Array.isArray(value)) return renderList(value);
      if (typeof value === 'string') return `<bdi>${escapeHtml(value)}</bdi>`;
      break;
    case 'plain-text':
    case 'attribute':
      if (typeof value === 'string') return escapeHtml(value);
      break;
    case 'attributes':
      if (value instanceof CheckedAttributes) return value.toString();
      break;
    case 'url':
      if (value instanceof CheckedUrl) return escapeHtml(value.toString());
      break;
    case undefined:
      break;
  }
  throw new TypeError(`a value of this type cannot be used in the context "${place}"`);
}

function renderList(values: readonly unknown[]): string {
  return values
    .map(value => {
      if (value instanceof TrustedHtml) return value.toString();
      throw new TypeError('a list in a template holds markup only');
    })
    .join('');
}

/** Parses the static text of a template and determines the context of each value. */
function findPlaces(strings: TemplateStringsArray): readonly Place[] {
  if (!Object.isFrozen(strings) || !Object.isFrozen(strings.raw)) throw refused('anything but a template literal');
  const places: Place[] = [];
  let within: 'text' | 'tag' | 'value' = 'text';
  let element = '';
  let attribute = '';
  strings.forEach((chunk, index) => {
    let valueStart = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const character = chunk[at];
      if (within === 'text' && character === '<') {
        const name = /^(?:\/?[a-z][a-z0-9]*|!doctype)/.exec(chunk.slice(at + 1))?.[0];
        if (name === undefined || refusedElements.has(name)) throw refused(`the tag at "${chunk.slice(at, at + 12)}"`);
        within = 'tag';
        element = name;
      } else if (within === 'tag' && character === '>') {
        within = 'text';
      } else if (within === 'tag' && character === '"') {
        const name = /[\s]([a-z][a-z-]*)=$/i.exec(chunk.slice(0, at))?.[1]?.toLowerCase();
        if (name === undefined || refusedAttributes.test(name)) throw refused('an attribute');
        within = 'value';
        attribute = name;
        valueStart = at + 1;
      } else if (within === 'tag' && (character === "'" || (character === '=' && chunk[at + 1] !== '"'))) {
        throw refused('an attribute without double quotes');
      } else if (within === 'value' && character === '"') {
        within = 'tag';
      }
    }
    const isLast = index === strings.length - 1;
    if (isLast && within !== 'text') throw refused('a tag that is not closed');
    if (isLast) return;
    if (within === 'tag') {
      // Directly after the tag's name or a quote and directly before the end of the tag, so the value can become part
      // of neither.
      const isAlone =
        !element.startsWith('/') && /[a-z0-9"]$/.test(chunk) && strings[index + 1]?.startsWith('>') === true;
      if (!isAlone) throw refused('a value inside a tag');
      places.push('attributes');
    } else if (within === 'text') {
      places.push(plainTextElements.has(element) ? 'plain-text' : 'text');
    } else if (urlAttributes.has(attribute)) {
      const isWhole = valueStart === chunk.length && strings[index + 1]?.startsWith('"') === true;
      if (!isWhole) throw refused(`a part of ${attribute}`);
      places.push('url');
    } else {
      places.push('attribute');
    }
  });
  return places;
}

function refused(what: string): TypeError {
  return new TypeError(`template refused: ${what} cannot be made safe by escaping`);
}
