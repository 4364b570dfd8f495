import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { linesOf, RpcError, readClientMessage, readUpstreamMessage } from './message.ts';

const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete"}}';

function faultOf(text: string | Buffer): number | undefined {
  try {
    readClientMessage(Buffer.from(text));
    return undefined;
  } catch (error) {
    if (error instanceof RpcError) return error.code;
    throw error;
  }
}

describe('S262: messages that readers could take for different ones are refused', () => {
  test.each([
    ['a method that stands twice', '{"method":"ping","method":"tools/call","params":{"name":"delete"}}'],
    ['a method in escapes that stands twice', '{"method":"ping","m\\u0065thod":"tools/call"}'],
    ['a method in capitals, for readers that ignore case', '{"id":1,"method":"ping","METHOD":"tools/call"}'],
    ['a method in wide letters', '{"id":1,"method":"ping","ｍethod":"tools/call"}'],
    ['parameters in capitals', '{"id":1,"method":"tools/call","params":{"name":"a"},"Params":{"name":"delete"}}'],
    ['a method in capitals', '{"id":1,"method":"Tools/Call","params":{"name":"delete"}}'],
    ['a tool that stands twice', '{"id":1,"method":"tools/call","params":{"name":"list","name":"delete"}}'],
    ['a tool in capitals', '{"id":1,"method":"tools/call","params":{"name":"list","Name":"delete"}}'],
    [
      'arguments that stand twice',
      '{"id":1,"method":"tools/call","params":{"name":"a","arguments":{},"arguments":{}}}',
    ],
    ['a line that Python splits in three', `{"method":"ping","params":\r${CALL}\r}`],
    ['a number', '1'],
    ['a batch of numbers', '[1]'],
  ])('%s', (_what, text) => {
    expect(faultOf(text)).toBe(-32600);
  });

  test.each([
    ['what is not JSON', '{"method":"ping"'],
    ['what only lenient readers take for JSON', `{"a":NaN,${CALL.slice(1)}`],
    ['a byte order mark', `\uFEFF${CALL}`],
    ['two messages in one line', `${CALL}${CALL}`],
    ['a comment', `/**/${CALL}`],
  ])('%s', (_what, text) => {
    expect(faultOf(text)).toBe(-32700);
  });

  test('bytes that are not UTF-8', () => {
    expect(faultOf(Buffer.concat([Buffer.from('{"method":"a'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]))).toBe(
      -32700,
    );
  });
});

test('a name of many marks is read in time that is linear in its length', () => {
  const name = `a${'\u0301'.repeat(20_000)}${'\u0327'.repeat(20_000)}`;
  const startedAt = performance.now();
  faultOf(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', [name]: 1 }));
  expect(performance.now() - startedAt).toBeLessThan(200);
});

test.each([
  ['unknown members', '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"a":1,"A":2},"extra":null}'],
  ['no protocol version', '{"id":null,"method":"ping","_meta":null}'],
  ['an array as parameters', '{"id":"1","method":"ping","params":[1,2]}'],
  ['a response', '{"jsonrpc":"2.0","id":1,"result":null}'],
])('a message with %s is read', (_what, text) => {
  expect(faultOf(text)).toBeUndefined();
});

test.each(['', 'Server listening', '{not json}', '"text"', '42'])("an upstream's line %j is no message", line => {
  expect(readUpstreamMessage(Buffer.from(line))).toBeUndefined();
});

test('lines are found in chunks of any size, without their ends', async () => {
  const bytes = Buffer.from('{"a":"é"}\r\n\n[1]\n{"b":2}');
  for (let size = 1; size <= bytes.length; size += 1) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    const lines: string[] = [];
    for await (const line of linesOf(Readable.from(chunks))) lines.push(line.toString());
    expect(lines).toEqual(['{"a":"é"}', '[1]', '{"b":2}']);
  }
});
