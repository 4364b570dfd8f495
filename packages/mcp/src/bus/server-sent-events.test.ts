import { describe, expect, test } from 'vitest';
import { createEventReader } from './server-sent-events.ts';

function reader() {
  const heard: (string | number)[][] = [];
  const read = createEventReader({
    onData: data => heard.push(['data', data]),
    onId: id => heard.push(['id', id]),
    onRetry: retryMs => heard.push(['retry', retryMs]),
  });
  return { read, heard };
}

const STREAM = 'retry: 2000\r\nid: 1-0\r\n\r\nevent: x\nid: 2-0\ndata: {"a":\ndata:1}\n\n:\n\nid:3-0\n\n';
const HEARD = [
  ['retry', 2000],
  ['id', '1-0'],
  ['data', '{"a":\n1}'],
  ['id', '2-0'],
  ['id', '3-0'],
];

describe('an event reader', () => {
  test.each([1, 2, 3, 7, 1000])('reads the same events from pieces of %i characters', size => {
    const { read, heard } = reader();
    for (let from = 0; from < STREAM.length; from += size) read(STREAM.slice(from, from + size));
    expect(heard).toEqual(HEARD);
  });

  test.each(['', 'ü', 'a b', 'a\0', '\u0001', 'x'.repeat(257)])('ignores an id that no header takes: %j', id => {
    const { read, heard } = reader();
    read(`id: 1-0\n\nid: ${id}\ndata: 1\n\n`);
    expect(heard).toEqual([
      ['id', '1-0'],
      ['data', '1'],
    ]);
  });

  test.each(['data: x', 'data: x\n'])('refuses a frame that does not end, in pieces of %j', piece => {
    const { read } = reader();
    read('data: ');
    expect(() => {
      for (let at = 0; at < 40_000; at += 1) read(piece);
    }).toThrow(RangeError);
  });
});
