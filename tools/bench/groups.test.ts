import { expect, test } from 'vitest';
import { type FailedGroup, runGroups } from './groups.ts';
import type { Row } from './support/row.ts';
import { interleave, rounds } from './support/statistics.ts';

const bench = { runs: 5, seconds: 1, samples: 1, quick: true, directory: '/nowhere', profileDir: undefined };
const row = (figure: string): Row => ({ figure, unit: 'ms', ours: [1] });

test('a failed group names its cause, the rest goes on, and each result is reported at once', async () => {
  const seen: unknown[] = [];
  const fail = ({ name, cause }: FailedGroup) => void seen.push([name, cause]);
  const failures = await runGroups(
    {
      groups: {
        first: { measure: async () => [row('one')], minutes: 1 },
        broken: {
          measure: () => Promise.reject(new TypeError('issuing was answered\n  with 500')),
          minutes: 1,
        },
        last: { measure: async () => [row('two'), row('three')], minutes: 1 },
      },
      bench,
      fail,
    },
    ({ name, measured }, all) => void seen.push([name, measured.rows.length, all.rows.length]),
  );
  const cause = expect.stringMatching(/^TypeError: issuing was answered with 500 \(tools\/bench\/groups\.test\.ts/);
  expect(seen).toEqual([
    ['first', 1, 1],
    ['broken', cause],
    ['last', 2, 3],
  ]);
  expect(failures).toEqual([{ name: 'broken', cause }]);
});

test('each group gets the time that those before it have left over', async () => {
  const left: number[] = [];
  const measure = async ({ until }: { readonly until: number }) => {
    left.push(Math.round((until - performance.now()) / 60_000));
    return [];
  };
  const groups = { first: { measure, minutes: 2 }, second: { measure, minutes: 3 } };
  await runGroups({ groups, bench, fail: () => undefined }, () => undefined);
  expect(left).toEqual([2, 5]);
});

test.each([
  ['all rounds in time', Number.POSITIVE_INFINITY, [-1, 0, 1, 2, 3, 4]],
  ['two after the time is up', 0, [-1, 0, 1]],
])('a group measures %s', (_, until, expected) => {
  expect([...rounds({ runs: 5, until }, -1)]).toEqual(expected);
});

test('both sides are measured in turn', async () => {
  const order: string[] = [];
  const side = (name: string) => async () => order.push(name);
  expect(await interleave({ runs: 2, until: 0 }, side('A'), side('B'))).toEqual({ ours: [1, 3], baseline: [2, 4] });
  expect(order).toEqual(['A', 'B', 'A', 'B']);
});
