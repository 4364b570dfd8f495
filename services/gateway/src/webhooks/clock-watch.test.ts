import { createFakeClock } from '@postern/testkit/clock';
import { expect, it } from 'vitest';
import { createClockWatch } from './clock-watch.ts';

const inGmt = (ms: number) => new Date(ms).toUTCString();

it('N11: a clock that is minutes off is told, once an hour', () => {
  const clock = createFakeClock();
  const told: number[] = [];
  const heard = createClockWatch({ now: clock.now, onSkew: seconds => told.push(seconds) });
  heard(inGmt(clock.now() + 120_000));
  heard(inGmt(clock.now() - 120_000));
  heard(null);
  heard('yesterday');
  expect(told).toEqual([]);
  heard(inGmt(clock.now() + 600_000));
  heard(inGmt(clock.now() + 600_000));
  expect(told).toEqual([-600]);
  clock.advance(3_600_000);
  heard(inGmt(clock.now() - 600_000));
  expect(told).toEqual([-600, 600]);
});
