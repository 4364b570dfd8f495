import type { Message } from './message.ts';
import type { Catalogue } from './texts.ts';

const accents: Readonly<Record<string, string>> = {
  a: 'á',
  c: 'ç',
  e: 'é',
  g: 'ĝ',
  i: 'î',
  l: 'ļ',
  n: 'ñ',
  o: 'ö',
  s: 'š',
  u: 'ü',
  y: 'ý',
  z: 'ž',
  A: 'Å',
  C: 'Ç',
  E: 'É',
  I: 'Î',
  N: 'Ñ',
  O: 'Ö',
  S: 'Š',
  T: 'Ţ',
  U: 'Ü',
  Y: 'Ý',
};

/** Makes the texts accented, bracketed and a third longer, so that a page shows what does not fit or is not translated. */
export function pseudo(catalogue: Catalogue): Catalogue {
  return Object.fromEntries(
    Object.entries<Message>(catalogue).map(([key, message]) => [key, pseudoMessage(message)]),
  ) as Catalogue;
}

function pseudoMessage(message: Message): Message {
  if (typeof message === 'string') return pseudoText(message);
  const wordings = Object.entries<string>(message).map(([name, text]) => [
    name,
    name === 'plural' || name === 'select' ? text : pseudoText(text),
  ]);
  return Object.fromEntries(wordings) as Message;
}

function pseudoText(text: string): string {
  const accented = text
    .split(/(\{\w+\})/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/[A-Za-z]/g, letter => accents[letter] ?? letter)))
    .join('');
  const padding = 'ẋẋẋẋẋẋ '
    .repeat(Math.ceil(text.length / 3 / 7))
    .slice(0, Math.ceil(text.length / 3))
    .trim();
  return `[${accented} ${padding}]`;
}
