import {
  type Branding,
  displayHost,
  drawnIcon,
  foreignPlain,
  iconColour,
  type Locale,
  type LogoView,
  type McpServerView,
  stylesheet,
} from '@postern/pages';
import { ConfigError } from '../platform/config/config-error.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { Asset } from '../platform/http/static-assets.ts';

/** The appearance of a page. */
export interface Look {
  readonly branding: Branding;
  readonly stylesheetPath: string;
}

type LookConfig = Omit<GatewayConfig['branding'], 'name'>;

/** Pixels of the drawn icon: the size of an icon on a home screen. */
const ICON_SIZE = 180;

/**
 * The appearance of all pages under one configuration, and of the pages of each MCP server.
 * @throws ConfigError for colours that do not go together
 */
export function createLooks(config: Pick<GatewayConfig, 'branding' | 'mcpServers' | 'images'>) {
  const assets = new Map<string, Asset>();
  for (const { path, type, body } of config.images.values()) assets.set(path, { type, body });
  const base = config.branding;
  const nameIn = (locale: Locale) => foreignPlain(base.name, { locale });
  const icon = iconOf();

  function iconOf(): Asset & { readonly path: string } {
    const own = base.icon === undefined ? undefined : config.images.get(base.icon);
    if (own !== undefined) return own;
    const colour = iconColour({ name: nameIn('en'), accent: base.accent });
    let drawn: Buffer | undefined;
    return {
      path: '/favicon.ico',
      type: 'image/png',
      // Drawn on the first request for it: a start does not wait for it.
      get body() {
        drawn ??= drawnIcon(colour, ICON_SIZE);
        return drawn;
      },
    };
  }

  function lookOf(own: Partial<LookConfig> = {}, at: string): Look {
    // An undefined member replaces nothing of the general branding.
    const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
    const { imagesFolder: _, icon: _icon, logo, ...rest }: LookConfig = { ...base, ...given };
    const image = logo === undefined ? undefined : config.images.get(logo.light);
    const branding: Branding = {
      ...rest,
      name: nameIn('en'),
      iconPath: icon.path,
      ...(image !== undefined && {
        logo: { ...logoView(logo, config.images), width: image.width, height: image.height },
      }),
    };
    try {
      const { path, body } = stylesheet(branding);
      assets.set(path, { type: 'text/css; charset=utf-8', body });
      return { branding, stylesheetPath: path };
    } catch (error) {
      throw error instanceof Error ? new ConfigError([{ path: at, message: error.message }]) : error;
    }
  }

  const look = lookOf(undefined, 'branding');
  const looks = new Map(
    config.mcpServers.map(({ id, branding }, index) => [
      id,
      branding === undefined ? look : lookOf(branding, `mcpServers[${index}].branding`),
    ]),
  );

  return {
    /** By path. */
    assets: assets as ReadonlyMap<string, Asset>,
    /** What `/favicon.ico` returns. */
    icon: icon as Asset,
    /** The appearance, with the operator's name in the language of the page. */
    of(mcpServerId: string | undefined, locale: Locale): Look {
      const found = (mcpServerId === undefined ? undefined : looks.get(mcpServerId)) ?? look;
      if (typeof base.name === 'string') return found;
      return { ...found, branding: { ...found.branding, name: nameIn(locale) } };
    },
  };
}

/** Returns the paths of a configured logo. */
export function logoView(
  logo: { readonly light: string; readonly dark?: string | undefined } | undefined,
  images: GatewayConfig['images'],
): LogoView {
  const pathOf = (name: string | undefined) => (name === undefined ? undefined : images.get(name)?.path);
  const path = pathOf(logo?.light);
  if (path === undefined) throw new TypeError('the image was not read');
  return { path, darkPath: pathOf(logo?.dark) };
}

/** The registered identity of an MCP server on pages. */
export const mcpServerViewOf = (
  { name, url, logo }: GatewayConfig['mcpServers'][number],
  images: GatewayConfig['images'],
): McpServerView => ({
  name,
  host: displayHost(new URL(url)),
  ...(logo !== undefined && { logo: logoView(logo, images) }),
});

/** Assets of earlier configurations that stay: a browser may have received a page just before a reload. */
const KEPT_ASSETS = 64;

/** Adds the assets of this configuration to those that are served. */
export function keepAssets(
  served: Map<string, Asset>,
  current: ReadonlyMap<string, Asset>,
): ReadonlyMap<string, Asset> {
  for (const [path, asset] of current) {
    served.delete(path);
    served.set(path, asset);
  }
  for (const path of [...served.keys()].slice(0, Math.max(0, served.size - current.size - KEPT_ASSETS)))
    served.delete(path);
  return new Map(served);
}
