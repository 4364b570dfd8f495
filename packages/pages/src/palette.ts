import {
  type Colour,
  contrast,
  formatColour,
  isSameHue,
  mix,
  parseColour,
  readableOn,
  textOn,
  visibleOn,
  white,
} from './colour.ts';
import type { Branding } from './views.ts';

/** Backgrounds of `postern.css`, copied here to compute contrasts. A test compares the two. @internal exported for tests */
export const pageColours = { light: '#f3f4f4', dark: '#101413' } as const;
const cardColours = { light: '#ffffff', dark: '#191e1d' } as const;

/** The colour of acts that cannot be undone. A copy, like the backgrounds. */
const dangerColours = { light: '#a11d1d', dark: '#f5a097' } as const;

const defaultAccents = { light: '#0b655c', dark: '#52b9a9' } as const;

/**
 * The colours derived from the operator's accent, per scheme. `accent` fills surfaces and differs from the card, which fills
 * the plain button, by a contrast of 3:1 at least. `on-accent` is text on such surfaces, and `accent-text` is for accented
 * text and outlines. Both text colours reach WCAG AA for any accent.
 *
 * @throws Error that names the setting and its fault.
 */
export function accentColours(branding: Branding, scheme: 'light' | 'dark'): Readonly<Record<string, string>> {
  const fault = accentFault(branding);
  if (fault !== undefined) throw new Error(`branding.${fault.setting}: ${fault.message}`);
  const card = parseColour(cardColours[scheme]);
  const grounds: [Colour, Colour] = [card, parseColour(pageColours[scheme])];
  const accent = visibleOn(schemeAccent(branding, scheme), [card]);
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

interface AccentFault {
  readonly setting: 'accent' | 'accentDark';
  readonly message: string;
}

/** Checks the operator's colours. Nothing but danger may look like danger. */
export function accentFault(branding: {
  readonly accent?: string | undefined;
  readonly accentDark?: string | undefined;
}): AccentFault | undefined {
  for (const [setting, scheme] of [
    ['accent', 'light'],
    ['accentDark', 'dark'],
  ] as const) {
    const text = branding[setting];
    if (text === undefined) continue;
    try {
      if (isSameHue(parseColour(text), parseColour(dangerColours[scheme]))) {
        return { setting, message: `is as red as ${dangerColours[scheme]}, the colour of acts that cannot be undone` };
      }
    } catch (error) {
      return { setting, message: error instanceof Error ? error.message : 'unreadable' };
    }
  }
  return undefined;
}

function schemeAccent(branding: Branding, scheme: 'light' | 'dark'): Colour {
  const { accent = defaultAccents.light, accentDark } = branding;
  if (scheme === 'light') return parseColour(accent);
  if (accentDark !== undefined) return parseColour(accentDark);
  return branding.accent === undefined ? parseColour(defaultAccents.dark) : brightened(parseColour(accent));
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
