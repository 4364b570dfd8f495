/** In this order: most browsers also name those below them. */
const BROWSERS = [
  ['Edge', /\bEdg(?:A|iOS|e)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS)\//],
  ['Safari', /\bSafari\//],
] as const;

const SYSTEMS = [
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
] as const;

const MAX_LENGTH = 512;

/**
 * Names the products of a browser and its system, such as "Firefox, Windows". Only names of this list are ever stored: no version, no
 * device, and none of the sender's text.
 */
export function browserName(userAgent: string | undefined): string | undefined {
  const text = userAgent?.slice(0, MAX_LENGTH) ?? '';
  const nameIn = (list: typeof BROWSERS | typeof SYSTEMS) => list.find(([, pattern]) => pattern.test(text))?.[0];
  const names = [nameIn(BROWSERS), nameIn(SYSTEMS)].filter(name => name !== undefined);
  return names.length === 0 ? undefined : names.join(', ');
}
