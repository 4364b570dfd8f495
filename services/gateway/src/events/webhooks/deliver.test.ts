import { createFakeClock } from '@postern/testkit/clock';
import { expect, it } from 'vitest';
import { createClockWatch } from './deliver.ts';

const inGmt = (ms: number) => new Date(ms).toUTCString();

it('N11: reports a clock that is minutes off, once an hour', () => {
  const clock = createFakeClock();
  const reported: number[] = [];
  const watch = createClockWatch({ now: clock.now, onSkew: seconds => reported.push(seconds) });
  watch(inGmt(clock.now() + 120_000));
  watch(inGmt(clock.now() - 120_000));
  watch(null);
  watch('yesterday');
  expect(reported).toEqual([]);
  watch(inGmt(clock.now() + 600_000));
  watch(inGmt(clock.now() + 600_000));
  expect(reported).toEqual([-600]);
  clock.advance(3_600_000);
  watch(inGmt(clock.now() - 600_000));
  expect(reported).toEqual([-600, 600]);
});
