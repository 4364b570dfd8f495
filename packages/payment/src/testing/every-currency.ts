import { decimalsOf } from '../stripe-amounts.ts';

/** Every supported currency, in alphabetical order. */
const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at));
const codes = letters.flatMap(a => letters.flatMap(b => letters.map(c => a + b + c)));
export const everyCurrency: readonly string[] = codes.filter(code => decimalsOf(code) !== undefined);
