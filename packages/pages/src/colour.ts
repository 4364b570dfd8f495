/** An sRGB colour; each channel from 0 to 255. */
export interface Colour {
  readonly red: number;
  readonly green: number;
  readonly blue: number;
}

const black: Colour = { red: 0, green: 0, blue: 0 };
export const white: Colour = { red: 255, green: 255, blue: 255 };

/** WCAG 2.2 success criterion 1.4.3, level AA, for text of any size. */
const readableContrast = 4.5;

/**
 * Reads a colour written as `#rrggbb`.
 *
 * @throws Error that names the fault. Colours become part of a stylesheet, so no other notation
 *   is accepted.
 */
export function parseColour(text: string): Colour {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  if (match === null) throw new Error(`colour must be written as #rrggbb, but is ${JSON.stringify(text.slice(0, 40))}`);
  const [red = 0, green = 0, blue = 0] = match.slice(1).map(channel => Number.parseInt(channel, 16));
  return { red, green, blue };
}

/** The colour as `#rrggbb`, lower case. */
export function formatColour({ red, green, blue }: Colour): string {
  return `#${[red, green, blue].map(channel => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;
}

/** Contrast ratio from 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(a: Colour, b: Colour): number {
  const [lighter = 0, darker = 0] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
  return (lighter + 0.05) / (darker + 0.05);
}

/** Returns black or white, whichever contrasts more with `background`; one always reaches {@link readableContrast}. */
export function textOn(background: Colour): Colour {
  return contrast(white, background) >= contrast(black, background) ? white : black;
}

/**
 * Returns the colour nearest to `colour` that is readable on all `backgrounds`, by moving it in small steps towards black or
 * white.
 */
export function readableOn(colour: Colour, backgrounds: readonly [Colour, ...Colour[]]): Colour {
  const target = textOn(backgrounds[0]);
  for (let share = 0; share < 1; share += 0.02) {
    const candidate = parseColour(formatColour(mix(colour, target, share)));
    if (backgrounds.every(background => contrast(candidate, background) >= readableContrast)) return candidate;
  }
  return target;
}

/** `share` 0 is `from`, 1 is `to`. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  const channel = (a: number, b: number) => a + (b - a) * share;
  return {
    red: channel(from.red, to.red),
    green: channel(from.green, to.green),
    blue: channel(from.blue, to.blue),
  };
}

/** Relative luminance (WCAG 2.2). */
function luminance({ red, green, blue }: Colour): number {
  const [r = 0, g = 0, b = 0] = [red, green, blue].map(channel => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
