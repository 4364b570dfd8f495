import { expect, test } from 'vitest';
import { longFunctions } from './long-functions.ts';

const lines = (count: number) => '  void 0;\n'.repeat(count);

test('names the functions of more than 80 lines, by the line where they begin', () => {
  const short = `function short(a: string): void {\n${lines(78)}}\n`;
  expect(longFunctions(short)).toEqual([]);
  const long = `export const long = (a?: number): void => {\n${lines(79)}};\n`;
  expect(longFunctions(`${short}${long}`)).toEqual([{ line: 81, lines: 81 }]);
  expect(longFunctions(`class A {\n  #b(): void {\n${lines(100)}  }\n}\n`)).toEqual([{ line: 2, lines: 102 }]);
});
