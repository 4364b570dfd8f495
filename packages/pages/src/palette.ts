import { type Colour, contrast, formatColour, mix, parseColour, readableOn, textOn, white } from './colour.ts';
import type { Branding } from './views.ts';

/** Backgrounds of `postern.css`, copied here to compute contrasts. A test compares the two. @internal exported for tests */
export const pageColours = { light: '#f3f4f4', dark: '#101413' } as const;
const cardColours = { light: '#ffffff', dark: '#191e1d' } as const;

const defaultAccents = { light: '#0b655c', dark: '#52b9a9' } as const;

/**
 * The colours derived from the operator's accent, per scheme. `accent` fills surfaces, `on-accent` is text on them, and
 * `accent-text` is for accented text and outlines. Both text colours reach WCAG AA for any accent.
 *
 * @throws Error that names the setting and its fault.
 */
export function accentColours(branding: Branding, scheme: 'light' | 'dark'): Readonly<Record<string, string>> {
  const accent = schemeAccent(branding, scheme);
  const grounds: [Colour, Colour] = [parseColour(cardColours[scheme]), parseColour(pageColours[scheme])];
  return {
    accent: formatColour(accent),
    'on-accent': formatColour(textOn(accent)),
    'accent-text': formatColour(readableOn(accent, grounds)),
  };
}

/** The colour of the browser's own controls: the accent if the operator chose one, the ground of the page otherwise. */
export function themeColour(branding: Branding, scheme: 'light' | 'dark'): string {
  return branding.accent === undefined ? pageColours[scheme] : formatColour(schemeAccent(branding, scheme));
}

/** The colour of the drawn icon. */
export function iconColour(branding: Branding): Colour {
  return schemeAccent(branding, 'light');
}

function schemeAccent(branding: Branding, scheme: 'light' | 'dark'): Colour {
  const { accent = defaultAccents.light, accentDark } = branding;
  if (scheme === 'light') return parseSetting('accent', accent);
  if (accentDark !== undefined) return parseSetting('accentDark', accentDark);
  return branding.accent === undefined ? parseColour(defaultAccents.dark) : brightened(parseSetting('accent', accent));
}

/** The contrast with a dark card at which a filled button is as visible as on a light card. */
const clearContrast = 6.5;

/**
 * Returns the same hue, bright enough for a dark card. Scales all channels up in proportion as far as possible, which
 * keeps the saturation, and then mixes in white.
 */
function brightened(colour: Colour): Colour {
  const card = parseColour(cardColours.dark);
  const isClear = (candidate: Colour) => contrast(candidate, card) >= clearContrast;
  const room = 255 / Math.max(1, colour.red, colour.green, colour.blue);
  const full = scale(colour, room);
  for (let factor = 1; factor < room; factor += 0.02) {
    if (isClear(scale(colour, factor))) return scale(colour, factor);
  }
  for (let share = 0; share < 1; share += 0.02) {
    if (isClear(mix(full, white, share))) return mix(full, white, share);
  }
  return white;
}

function scale({ red, green, blue }: Colour, factor: number): Colour {
  return { red: red * factor, green: green * factor, blue: blue * factor };
}

function parseSetting(setting: 'accent' | 'accentDark', text: string): Colour {
  try {
    return parseColour(text);
  } catch (cause) {
    throw new Error(`branding.${setting}: ${cause instanceof Error ? cause.message : 'unreadable'}`, { cause });
  }
}
