import { type Colour, contrast, formatColour, mix, parseColour, readableOn, textOn, white } from './colour.ts';
import type { Branding } from './views.ts';

/** Grounds of `postern.css`; repeated here because contrast is computed against them and a test compares the two. */
export const pageColours = { light: '#f3f4f4', dark: '#101413' } as const;
export const cardColours = { light: '#ffffff', dark: '#191e1d' } as const;

export const defaultAccent = '#0b655c';

/**
 * The colours that follow from the operator's accent, per scheme. `accent` fills surfaces, `on-accent` is text upon it,
 * `accent-text` is the accent where it is text or an outline itself; both texts reach WCAG AA whatever the accent is.
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

function schemeAccent(branding: Branding, scheme: 'light' | 'dark'): Colour {
  const light = parseSetting('accent', branding.accent ?? defaultAccent);
  if (scheme === 'light') return light;
  if (branding.accentDark !== undefined) return parseSetting('accentDark', branding.accentDark);
  return contrast(light, parseColour(cardColours.dark)) < 6 ? lighten(light) : light;
}

/** Lightens until the colour stands out from a dark card as clearly as a filled button should. */
function lighten(colour: Colour): Colour {
  const card = parseColour(cardColours.dark);
  let share = 0;
  while (share < 1 && contrast(mix(colour, white, share), card) < 6) share += 0.02;
  return mix(colour, white, share);
}

function parseSetting(setting: 'accent' | 'accentDark', text: string): Colour {
  try {
    return parseColour(text);
  } catch (cause) {
    throw new Error(`branding.${setting}: ${cause instanceof Error ? cause.message : 'unreadable'}`, { cause });
  }
}
