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

/** WCAG 2.2 success criterion 1.4.11, level AA, for the parts of the page that the user acts on. */
const visibleContrast = 3;

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

type Backgrounds = readonly [Colour, ...Colour[]];

/** Returns the colour nearest to `colour` in which text is readable on all `backgrounds`. */
export function readableOn(colour: Colour, backgrounds: Backgrounds): Colour {
  return movedAway(colour, backgrounds, readableContrast);
}

/** Returns the colour nearest to `colour` that tells a filled surface apart from all `backgrounds`. */
export function visibleOn(colour: Colour, backgrounds: Backgrounds): Colour {
  return movedAway(colour, backgrounds, visibleContrast);
}

/** Moves a colour in small steps towards black or white. */
function movedAway(colour: Colour, backgrounds: Backgrounds, least: number): Colour {
  const target = textOn(backgrounds[0]);
  for (let share = 0; share < 1; share += 0.02) {
    const candidate = parseColour(formatColour(mix(colour, target, share)));
    if (backgrounds.every(background => contrast(candidate, background) >= least)) return candidate;
  }
  return target;
}

/** Below this chroma a colour looks grey, and its hue says nothing. */
const greyChroma = 0.05;

/** Hues that differ by fewer degrees have one name. */
const sameHue = 14;

/** Whether users would call both colours by one name, such as red, however light or dark they are. */
export function isSameHue(a: Colour, b: Colour): boolean {
  const [first, second] = [polar(a), polar(b)];
  if (first.chroma < greyChroma || second.chroma < greyChroma) return false;
  const apart = Math.abs(first.hue - second.hue) % 360;
  return Math.min(apart, 360 - apart) < sameHue;
}

/** Chroma, and hue in degrees, in the colour space Oklab (https://bottosson.github.io/posts/oklab/). */
function polar(colour: Colour): { chroma: number; hue: number } {
  const { r, g, b } = linear(colour);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const greenRed = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const blueYellow = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  return { chroma: Math.hypot(greenRed, blueYellow), hue: (Math.atan2(blueYellow, greenRed) * 180) / Math.PI };
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
function luminance(colour: Colour): number {
  const { r, g, b } = linear(colour);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function linear({ red, green, blue }: Colour): { r: number; g: number; b: number } {
  const [r = 0, g = 0, b = 0] = [red, green, blue].map(channel => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return { r, g, b };
}
