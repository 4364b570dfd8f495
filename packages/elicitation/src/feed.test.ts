import { describe, expect, test } from 'vitest';
import { compareFeedPositions, FEED_START, parseFeedPosition } from './feed.ts';

describe('positions in a feed', () => {
  test.each([FEED_START, '1795250405064-0', '1795250405064-12', '999999999999999-999999999999999'])('%s', position => {
    expect(parseFeedPosition(position)).toBe(position);
  });

  test.each([
    '',
    '0',
    '-',
    '1-',
    '-1',
    '1-1-1',
    '01-0',
    '1-00',
    '+1-0',
    '1.5-0',
    '1e3-0',
    '1-0 ',
    '١-0',
    '1000000000000000-0',
    '$',
    '(1-0',
  ])('%j is none', value => {
    expect(parseFeedPosition(value)).toBeUndefined();
  });

  test('are ordered by time, then by count, as numbers', () => {
    const ordered = ['0-0', '0-1', '9-0', '10-0', '10-2', '10-10', '11-0'];
    expect(ordered.toReversed().toSorted(compareFeedPositions)).toEqual(ordered);
    expect(compareFeedPositions('10-2', '10-2')).toBe(0);
  });
});
