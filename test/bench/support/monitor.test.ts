import { expect, test } from 'vitest';
import { argumentsIn } from './monitor.ts';

test('arguments are what was sent, quotes, line ends and other alphabets included', () => {
  const line = String.raw`+1795285215.917888 [0 127.0.0.1:4711] "hset" "a \"b\" \\ c" "\xc3\xa9\n" ""`;
  expect(argumentsIn(line)).toEqual(['hset', 'a "b" \\ c', 'é\n', '']);
});
