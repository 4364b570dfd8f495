import { type Html, html, joinHtml, ownPath, ownText } from '../html.ts';
import { type Locale, languageOf, locales } from '../languages/languages.ts';
import { layout } from '../layout.ts';
import { pageScript } from '../page-script.ts';
import { fact, facts } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { Branding, McpServerView, PageContext } from '../views.ts';
import { samplePages } from './sample-pages.ts';
import { withMcpServer } from './sample-views.ts';

/** The appearance of the pages of one MCP server, or of all other pages. */
export interface PreviewLook {
  /** A part of file names. */
  readonly id: string;
  readonly name: string;
  readonly brandingIn: (locale: Locale) => Branding;
  readonly stylesheetPath: string;
  /** Who asks on the pages. Default: a sample. */
  readonly mcpServer?: McpServerView;
  /** Whether only pages on which an MCP server asks have it. */
  readonly isOfMcpServer: boolean;
}

interface PreviewFile {
  readonly type: string;
  readonly body: string | Buffer;
}

const themes = ['light', 'dark'] as const;
type Theme = (typeof themes)[number];

/** Pages by name. The first family that fits has the page. */
const families: readonly { readonly title: string; readonly names: RegExp; readonly isOfMcpServer: boolean }[] = [
  {
    title: 'Sign-in',
    names: /^(?:sign-in|signed-out|passkey-sign-in)/,
    isOfMcpServer: false,
  },
  {
    title: 'Account pages',
    names:
      /^(?:me|disconnect|delete|credential-deleted|passkey-(?:add|permit|remove|rename)|history|browsers|data|erase|mcp-server)/,
    isOfMcpServer: false,
  },
  { title: 'Connecting an account', names: /^(?:connect|leaving|device|done)/, isOfMcpServer: true },
  { title: 'Payments and passkeys', names: /^(?:payment|charge|receipt|passkey|daily-limit)/, isOfMcpServer: true },
  { title: 'Confirmations', names: /^confirm/, isOfMcpServer: true },
  { title: 'Credentials and forms', names: /^(?:credential|form)/, isOfMcpServer: true },
  { title: 'Other endings', names: /^(?:working|declined|expired|cancelled|failed)/, isOfMcpServer: true },
  { title: 'Refusals and errors', names: /^/, isOfMcpServer: false },
];
const familyOf = (name: string) => families.find(({ names }) => names.test(name));

/** The logo of a sample MCP server. */
const sampleLogo =
  '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48"><rect width="48" height="48" rx="12" fill="#345"/></svg>';

/**
 * Every page with the branding of an operator, as files that refer to each other relatively: by look, theme and language, with an index of
 * each. Links and forms of the pages lead back to the page. Renders a page when it is read.
 * @param looks the general one first
 * @param assets images and stylesheets by their path
 */
export function createPreview(
  looks: readonly [PreviewLook, ...PreviewLook[]],
  assets: ReadonlyMap<string, PreviewFile>,
) {
  const files = new Map<string, () => PreviewFile>();
  const add = (path: string, { theme }: Pick<Folder, 'theme'>, render: () => string) => {
    const type = 'text/html; charset=utf-8';
    files.set(path, () => ({ type, body: contained(inTheme(render(), theme), path) }));
  };

  for (const [path, asset] of assets) {
    files.set(path, () => asset);
    if (!asset.type.startsWith('text/css')) continue;
    const body = String(asset.body);
    for (const theme of themes) files.set(themed(path, theme), () => ({ ...asset, body: inTheme(body, theme) }));
  }
  files.set(pageScript.path, () => ({ type: 'text/javascript; charset=utf-8', body: pageScript.body }));
  files.set('/assets/logo.svg', () => ({ type: 'image/svg+xml', body: sampleLogo }));
  add('/index.html', { theme: 'light' }, () => indexPage(looks, { look: looks[0], theme: 'light', locale: 'en' }));
  const folders = looks.flatMap(look => themes.flatMap(theme => locales.map(locale => ({ look, theme, locale }))));
  for (const folder of folders) {
    add(pathIn(folder, 'index'), folder, () => indexPage(looks, folder));
    for (const [name, render] of samplesOf(folder.look)) {
      const path = pathIn(folder, name);
      const page = () => render({ ...contextOf(folder), path });
      const { mcpServer } = folder.look;
      add(path, folder, mcpServer === undefined ? page : () => withMcpServer(mcpServer, page));
    }
  }

  /** Makes addresses of the preview relative, and lets all others of the gateway lead back to the page, which stays. */
  function contained(markup: string, path: string): string {
    const up = '../'.repeat(path.split('/').length - 2);
    return markup
      .replace(/<meta http-equiv="refresh"[^>]*>| data-check(?:="")?(?=[ >])/g, '')
      .replace(/(?<= (?:href|src|srcset|action|data-watch|data-page)=")\/[^"]*/g, target =>
        files.has(target) ? `${up}${target.slice(1)}` : '',
      );
  }

  return {
    paths: [...files.keys()] as readonly string[],
    read: (path: string): PreviewFile | undefined => files.get(path)?.(),
  };
}

interface Folder {
  readonly look: PreviewLook;
  readonly theme: Theme;
  readonly locale: Locale;
}

const pathIn = ({ look, theme, locale }: Folder, name: string) => `/${look.id}/${theme}/${locale}/${name}.html`;

const contextOf = ({ look: { brandingIn, stylesheetPath }, theme, locale }: Folder): PageContext => ({
  locale,
  branding: brandingIn(locale),
  stylesheetPath: themed(stylesheetPath, theme),
});

const samplesOf = ({ isOfMcpServer }: PreviewLook) =>
  Object.entries(samplePages).filter(([name]) => !isOfMcpServer || familyOf(name)?.isOfMcpServer === true);

const themed = (stylesheetPath: string, theme: Theme) => stylesheetPath.replace(/\.css$/, `-${theme}.css`);

/** Makes a page or a stylesheet independent of the theme that the browser prefers. */
function inTheme(text: string, theme: Theme): string {
  return text
    .replace(/\(prefers-color-scheme: ?(dark|light)\)/g, (_, wanted) =>
      wanted === theme ? '(min-width: 0)' : '(max-width: 0)',
    )
    .replace(/(?<=color-scheme: |name="color-scheme" content=")light dark/g, theme);
}

function indexPage(looks: readonly PreviewLook[], folder: Folder): string {
  const choice = (label: string, options: readonly { readonly text: string; readonly at: Folder }[]) => {
    const links = options.map(({ text, at }, index) => {
      const link = linkTo(pathIn(at, 'index'), text, pathIn(at, 'index') === pathIn(folder, 'index'));
      return index === 0 ? link : html` · ${link}`;
    });
    return fact(ownText(label), joinHtml(links));
  };
  const rows = [
    looks.length > 1
      ? choice(
          'Branding',
          looks.map(look => ({ text: look.name, at: { ...folder, look } })),
        )
      : undefined,
    choice(
      'Theme',
      themes.map(theme => ({ text: theme === 'light' ? 'Light' : 'Dark', at: { ...folder, theme } })),
    ),
    choice(
      'Language',
      locales.map(locale => ({ text: languageOf(locale).name, at: { ...folder, locale } })),
    ),
    ...families.map(family => {
      const names = samplesOf(folder.look).filter(([name]) => familyOf(name) === family);
      const links = names.map(([name]) => html`<li>${linkTo(pathIn(folder, name), titleOf(name))}</li>`);
      return names.length === 0 ? undefined : fact(ownText(family.title), html`<ul>${links}</ul>`);
    }),
  ];
  const main = html`<h1>${ownText('Preview of all pages')}</h1>
<div class="lead"><p>${ownText('Your branding, with sample content. Links and forms on the pages lead nowhere.')}</p></div>
${facts(rows)}`;
  return layout(contextOf({ ...folder, locale: 'en' }), translatorFor({ locale: 'en' }), { title: 'Preview', main });
}

const titleOf = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll('-', ' ');

function linkTo(path: string, text: string, isCurrent = false): Html {
  return isCurrent ? html`<strong>${text}</strong>` : html`<a href="${ownPath(path)}">${text}</a>`;
}
